#include "server/model_registry.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "model/weights_file.h"
#include "server/sqlite.h"
#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;

namespace {

std::vector<float> weights_of(float value) { return std::vector<float>(gpu::kWeights, value); }

struct Room {
  TemporaryDirectory directory;
  DataDir data{directory.path()};
  JobStore store{data.database()};
  std::unique_ptr<ModelRegistry> registry = std::make_unique<ModelRegistry>(data, store);

  std::string add(float value) {
    Job job = store.insert(queued_job(spec_of(300, 0.1)), std::nullopt).job;
    job.state = JobState::succeeded;
    job.result = JobResult{.model_id = job.id};
    ModelRecord record{.id = job.id,
                       .name = {},
                       .spec = job.spec,
                       .loss = 0.5,
                       .train_count = 4,
                       .train_correct = 3,
                       .test = {},
                       .created_at = now()};
    record.test.confusion[1][1] = 1;
    record.test.confusion[1][2] = 1;
    registry->add(record, weights_of(value), [&](const ModelRecord& written) { store.finish(job, written); });
    return job.id;
  }
  std::string active() const { return registry->active() ? registry->active()->record.id : "none"; }
  void restart() { registry = std::make_unique<ModelRegistry>(data, store); }
  bool has_file(const std::string& id) const { return std::filesystem::exists(data.weights(id)); }
};

}  // namespace

TEST_CASE("without models nothing is active and nothing is found") {
  Room room;
  CHECK(room.active() == "none");
  CHECK_THROWS_AS(room.registry->find("unknown"), NotFound);
  CHECK_THROWS_AS(room.registry->activate("unknown"), NotFound);
  CHECK_THROWS_AS(room.registry->erase("unknown"), NotFound);
  CHECK(room.registry->list(10, std::nullopt).items.empty());
}

TEST_CASE("the newest model is active until one is chosen by hand") {
  Room room;
  const std::string first = room.add(1);
  CHECK(room.active() == first);
  const std::string second = room.add(2);
  CHECK(room.active() == second);
  CHECK_FALSE(room.registry->is_chosen(second));
  room.registry->activate(first);
  CHECK(room.active() == first);
  CHECK(room.registry->is_chosen(first));
  CHECK(room.registry->active()->linear.weights() == weights_of(1));
  const std::string third = room.add(3);
  CHECK(room.active() == first);
  room.restart();
  CHECK(room.active() == first);
  CHECK(room.registry->is_chosen(first));
  CHECK(room.registry->find(third)->linear.weights() == weights_of(3));
  room.registry->erase(first);  // the chosen one: the newest takes over
  CHECK(room.active() == third);
  CHECK_FALSE(room.registry->is_chosen(third));
  room.registry->erase(third);
  CHECK(room.active() == second);
  room.restart();
  CHECK(room.active() == second);
  room.registry->erase(second);
  CHECK(room.active() == "none");
}

TEST_CASE("an erased model loses its file, and lives on with who holds it") {
  Room room;
  const std::string id = room.add(7);
  const ModelSnapshot held = room.registry->find(id);
  CHECK(room.has_file(id));
  room.registry->erase(id);
  CHECK_FALSE(room.has_file(id));
  CHECK_THROWS_AS(room.registry->find(id), NotFound);
  CHECK(held->linear.weights() == weights_of(7));
}

TEST_CASE("the weights file carries the weights and how they were made") {
  Room room;
  const std::string id = room.add(0.1F);
  const std::string bytes = read_file(room.data.weights(id));
  CHECK(model::from_safetensors(bytes) == weights_of(0.1F));
  for (const char* part : {"\"dataset\":\"mnist\"", "\"model\":\"linear\"", "\"solver\":\"gemm\"",
                           "\"iterations\":\"300\"", "\"learning_rate\":\"0.1\"", "\"seed\":\"1234567\"",
                           "\"loss\":\"0.5\"", "\"train_accuracy\":\"0.75\"", "\"test_accuracy\":\"0.5\""}) {
    CHECK_MESSAGE(contains(bytes, part), part);
  }
}

TEST_CASE("adding fails as a whole") {
  Room room;
  const std::string first = room.add(1);
  const ModelRecord record{.id = "x",
                           .name = {},
                           .spec = {},
                           .loss = 0,
                           .train_count = 1,
                           .train_correct = 0,
                           .test = {},
                           .created_at = now()};
  SUBCASE("where the job can't be finished") {
    const auto fail = [&](const ModelRecord&) {
      CHECK(room.active() == "x");  // whoever sees the job's end can use its model
      throw StoreError("disk full");
    };
    CHECK_THROWS_AS(room.registry->add(record, weights_of(2), fail), StoreError);
  }
  SUBCASE("where the file can't be written") {
    FullDisk full;
    bool finished = false;
    CHECK_THROWS_AS(room.registry->add(record, weights_of(2), [&](const ModelRecord&) { finished = true; }),
                    StoreError);
    CHECK_FALSE(finished);
  }
  CHECK(room.active() == first);
  CHECK_FALSE(room.has_file("x"));
}

TEST_CASE("a start takes the newest model that can be loaded") {
  Room room;
  const std::string first = room.add(1), second = room.add(2), third = room.add(3);
  std::filesystem::remove(room.data.weights(third));
  std::ofstream(room.data.weights(second)) << "damaged";
  room.restart();
  CHECK(room.active() == first);
  const std::string gone = message_of<StoreError>([&] { room.registry->find(third); });
  CHECK(contains(gone, third + ".safetensors cannot be read"));
  const std::string damaged = message_of<StoreError>([&] { room.registry->find(second); });
  CHECK(contains(damaged, second + ".safetensors is damaged: "));
  room.registry->erase(third);  // the remedy that the message names
  CHECK(room.active() == first);

  room.registry->activate(first);
  std::filesystem::remove(room.data.weights(first));
  room.restart();  // the chosen one is gone too
  CHECK(room.active() == "none");
  const std::string fourth = room.add(4);
  CHECK(room.active() == fourth);
}

TEST_CASE("one wrong bit in a weights file is noticed, wherever it is") {
  Room room;
  const std::string id = room.add(0.5F);
  room.add(1);  // the served one is not read again
  const auto file = room.data.weights(id);
  const std::string good = read_file(file);
  CHECK(room.registry->find(id)->linear.weights() == weights_of(0.5F));
  // In the metadata (a valid JSON text still), in a weight, in the last bias.
  for (const std::size_t position : {good.find("linear"), good.size() / 2, good.size() - 4}) {
    CAPTURE(position);
    std::string bad = good;
    bad[position] = static_cast<char>(bad[position] ^ 1);
    std::ofstream(file, std::ios::binary) << bad;
    const std::string message = message_of<StoreError>([&] { room.registry->find(id); });
    CHECK_MESSAGE(contains(message, "weights file " + file.string() +
                                        " is damaged: its bytes are not those that were written (digest "),
                  message);
    CHECK(contains(message, "; delete the model or put the file back"));
  }
  std::ofstream(file, std::ios::binary) << good;
  CHECK(room.registry->find(id)->linear.weights() == weights_of(0.5F));
}

TEST_CASE("a model of an older version has no digest and is taken as it is") {
  Room room;
  const std::string id = room.add(0.5F);
  CHECK(room.store.find_model(id)->weights_digest);
  SqliteDatabase(room.data.database()).execute("UPDATE models SET weights_digest = NULL");
  room.add(1);
  std::ofstream(room.data.weights(id), std::ios::binary) << model::to_safetensors(weights_of(0.25F), {});
  CHECK(room.registry->find(id)->linear.weights() == weights_of(0.25F));
}

TEST_CASE("what is no plain file of a sane size is not read as weights") {
  Room room;
  const std::string id = room.add(1), newest = room.add(2);
  const auto file = room.data.weights(newest);
  std::filesystem::remove(file);
  std::string reason = "it is no plain file";
  SUBCASE("an endless device behind a link") { std::filesystem::create_symlink("/dev/zero", file); }
  SUBCASE("a directory") { std::filesystem::create_directory(file); }
  SUBCASE("a pipe without a writer") { REQUIRE(mkfifo(file.c_str(), 0600) == 0); }
  SUBCASE("a terabyte of nothing") {
    std::ofstream{file};
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
    reason = "it holds 1099511627776 bytes; expected at most 67108864";
  }
  SUBCASE("a link to nowhere") {
    std::filesystem::create_symlink("nowhere", file);
    reason = "No such file or directory";
  }
  room.restart();
  CHECK(room.active() == id);  // the start goes on with another
  CHECK(message_of<StoreError>([&] { room.registry->find(newest); }) ==
        "weights file " + file.string() + " cannot be read: " + reason +
            "; delete the model or put the file back");
  room.registry->erase(newest);
  CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(file)));
}

TEST_CASE("a start removes files that belong to no model, and only those") {
  Room room;
  const std::string id = room.add(1);
  const auto models = room.data.path() / "models";
  std::ofstream(models / "orphan.safetensors") << "x";
  std::ofstream(models / (id + ".safetensors.7.partial")) << "x";
  std::ofstream(models / "notes.txt") << "x";
  room.restart();
  CHECK_FALSE(std::filesystem::exists(models / "orphan.safetensors"));
  CHECK_FALSE(std::filesystem::exists(models / (id + ".safetensors.7.partial")));
  CHECK(std::filesystem::exists(models / "notes.txt"));
  CHECK(room.has_file(id));
  CHECK(room.active() == id);
}

TEST_CASE("the served record follows a new name") {
  Room room;
  const std::string id = room.add(1);
  room.store.rename(id, "renamed");
  room.registry->refresh(id);
  CHECK(room.registry->active()->record.name == "renamed");
  CHECK(room.registry->active()->linear.weights() == weights_of(1));
}

TEST_CASE("labels of a split are computed once, and shared by threads") {
  TemporaryDirectory directory;
  write_dataset(directory.path(), 50, 20);
  const auto dataset = model::load_dataset("d", directory.path());
  std::vector<float> weights(gpu::kWeights, 0.0F);
  weights[gpu::kFeatures * 4 - 1] = 1;  // the bias of class 3 decides
  const ServedModel served({}, model::LinearModel(weights));
  std::atomic<const std::uint8_t*> data{nullptr};
  std::atomic<int> differing{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto& labels = served.labels_of(*dataset, model::SplitName::train);
      const std::uint8_t* expected = nullptr;
      if (!data.compare_exchange_strong(expected, labels.data()) && expected != labels.data()) ++differing;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(differing == 0);
  CHECK(served.labels_of(*dataset, model::SplitName::train) == std::vector<std::uint8_t>(50, 3));
  CHECK(served.labels_of(*dataset, model::SplitName::test) == std::vector<std::uint8_t>(20, 3));
}

TEST_CASE("models come and go while others predict") {
  Room room;
  room.add(1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<int> torn{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const ModelSnapshot snapshot = room.registry->active();
        const auto& weights = snapshot->linear.weights();
        if (weights.front() != weights.back()) ++torn;
      }
    });
  }
  std::vector<std::string> ids;
  for (int i = 2; i < 12; ++i) ids.push_back(room.add(static_cast<float>(i)));
  for (const std::string& id : ids) room.registry->erase(id);
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(torn == 0);
}
