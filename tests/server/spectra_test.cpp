#include "server/spectra.h"

#include <cmath>
#include <fstream>
#include <mutex>

#include <doctest/doctest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "model/sealed.h"
#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;
using namespace std::chrono_literals;

namespace {

// What is logged while it lives, by any thread.
class Log {
 public:
  Log() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink_));
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { spdlog::set_default_logger(before_); }
  std::string text() const { return sink_->text(); }

 private:
  class Sink final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::string text() {
      const std::lock_guard lock(mutex_);
      return text_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      text_.append(message.payload.data(), message.payload.size()).append("\n");
    }
    void flush_() override {}
    std::string text_;
  };
  std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
  std::shared_ptr<spdlog::logger> before_;
};

struct Room {
  TemporaryDirectory directory;
  DataDir data{directory.path() / "data"};
  Datasets datasets;
  std::unique_ptr<gpu::Device> device = gpu::Device::open({.backend = gpu::Backend::cpu, .threads = 1});

  Room() {
    write_dataset(directory.path() / "mnist");
    datasets["mnist"] = model::load_dataset("mnist", directory.path() / "mnist");
  }
  std::string digest() const { return datasets.at("mnist")->digest; }
  std::filesystem::path file(const std::string& kind) const { return data.cache(digest() + kind); }
  // As the worker does.
  bool serve_wanted(Spectra& spectra) {
    const auto name = spectra.wanted();
    if (!name) return false;
    const model::ResidentDataset resident(*device, datasets.at(*name));
    spectra.give(*name, resident.gram());
    return true;
  }
  bool are_kept() const {
    return std::filesystem::exists(file(".gram")) && std::filesystem::exists(file(".spectrum"));
  }
  // Makes both files, and gives the limit.
  double make() {
    Spectra spectra(data, datasets, true);
    serve_wanted(spectra);
    const double limit = spectra.wait_for("mnist")->stability_limit();
    REQUIRE(eventually([&] { return are_kept(); }));
    return limit;
  }
};

void write_file(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a spectrum is worked out once, kept, and read by the next start") {
  Room room;
  double limit = 0;
  {
    Spectra spectra(room.data, room.datasets, true);
    CHECK(spectra.known("mnist") == nullptr);
    CHECK(spectra.known("letters") == nullptr);
    CHECK(spectra.gram("mnist") == nullptr);
    CHECK(room.serve_wanted(spectra));
    CHECK_FALSE(spectra.wanted());
    const auto spectrum = spectra.wait_for("mnist");
    CHECK(spectra.known("mnist") == spectrum);
    limit = spectrum->stability_limit();
    CHECK(limit > 0);
    REQUIRE(eventually([&] { return room.are_kept(); }));
  }
  const auto gram_before = read_file(room.file(".gram"));
  Log log;
  Spectra spectra(room.data, room.datasets, true);
  REQUIRE(spectra.known("mnist"));
  CHECK(spectra.known("mnist")->stability_limit() == limit);
  REQUIRE(spectra.gram("mnist"));
  CHECK(spectra.gram("mnist")->images == 60);
  CHECK_FALSE(spectra.wanted());
  CHECK(log.text().empty());
  CHECK(read_file(room.file(".gram")) == gram_before);
  // The limit is the power iteration's: the largest growth of a vector by the products.
  const auto products = model::normal_products(*spectra.gram("mnist"));
  std::vector<double> v(785, 1), next(785);
  double growth = 0;
  for (int i = 0; i < 200; ++i) {
    double length = 0;
    for (int a = 0; a < 785; ++a) {
      next[a] = 0;
      for (int b = 0; b < 785; ++b) next[a] += products[785 * a + b] * v[b];
      length += next[a] * next[a];
    }
    growth = std::sqrt(length);
    for (int a = 0; a < 785; ++a) v[a] = next[a] / growth;
  }
  CHECK(limit == doctest::Approx(1 / growth).epsilon(1e-9));
}

TEST_CASE("where nobody asks nothing is worked out, but a Gram that is there is kept") {
  Room room;
  Spectra spectra(room.data, room.datasets, false);
  CHECK_FALSE(spectra.wanted());
  const model::ResidentDataset resident(*room.device, room.datasets.at("mnist"));
  spectra.give("mnist", resident.gram());
  REQUIRE(eventually([&] { return std::filesystem::exists(room.file(".gram")); }));
  CHECK(spectra.known("mnist") == nullptr);
  CHECK(spectra.ask("mnist") == nullptr);
  REQUIRE(eventually([&] { return spectra.known("mnist") != nullptr; }));
}

TEST_CASE("damaged, cut off and foreign files are told in the log, left aside, and made again") {
  Room room;
  const double limit = room.make();
  const std::string gram = read_file(room.file(".gram")), spectrum = read_file(room.file(".spectrum"));
  const auto flipped = [](std::string bytes, std::size_t at) {
    bytes[at] ^= 1;
    return bytes;
  };
  const std::string other_data =
      model::to_bytes(model::gram_from_bytes(gram, room.digest()), "0123456789abcdef");
  for (const auto& [kind, bytes, said] :
       {std::tuple{".gram", flipped(gram, 3'000'000), "is damaged"},
        {".gram", gram.substr(0, 1'000'000), "holds 1000000 bytes; expected"},
        {".gram", std::string(), "too few"},
        {".gram", std::string(7'000'000, 'x'), "expected at most"},
        {".gram", spectrum, "is no mnd.gram"},
        {".gram", other_data, "is of another dataset"},
        {".spectrum", flipped(spectrum, 4'000'000), "is damaged"},
        {".spectrum", std::string("of somebody else, who has a text here, long enough"), "is no mnd.spec"}}) {
    CAPTURE(said);
    write_file(room.file(kind), bytes);
    Log log;
    Spectra spectra(room.data, room.datasets, true);
    CHECK(contains(log.text(), said));
    CHECK(contains(log.text(), room.file(kind).string()));
    CHECK(contains(log.text(), "it is made again"));
    room.serve_wanted(spectra);
    CHECK(spectra.wait_for("mnist")->stability_limit() == limit);
    REQUIRE(eventually([&] { return read_file(room.file(".gram")) == gram; }));
    REQUIRE(eventually([&] { return read_file(room.file(".spectrum")) == spectrum; }));
  }
  // A directory and a pipe in their places can't be replaced: the daemon does without.
  std::filesystem::remove(room.file(".gram"));
  std::filesystem::create_directory(room.file(".gram"));
  Log log;
  Spectra spectra(room.data, room.datasets, true);
  CHECK(contains(log.text(), "it is no plain file"));
  CHECK(room.serve_wanted(spectra));
  CHECK(spectra.known("mnist"));
}

TEST_CASE("a full disk costs the cache and nothing else") {
  Room room;
  {
    FullDisk full;
    Log log;
    Spectra spectra(room.data, room.datasets, true);
    room.serve_wanted(spectra);
    CHECK(spectra.wait_for("mnist"));
    REQUIRE(eventually([&] { return contains(log.text(), ".spectrum"); }));
    CHECK(contains(log.text(), "the next start works it out again"));
  }
  CHECK_FALSE(room.are_kept());
  room.make();
}

TEST_CASE("half-written files are removed by the next start") {
  Room room;
  std::filesystem::create_directory(room.data.cache());
  const auto partial = room.data.cache(room.digest() + ".gram.1.partial");
  write_file(partial, "half");
  const Spectra spectra(room.data, room.datasets, false);
  CHECK_FALSE(std::filesystem::exists(partial));
}

TEST_CASE("who waits is told why there is nothing, and the next that asks makes it wanted again") {
  Room room;
  Spectra spectra(room.data, room.datasets, true);
  std::jthread worker([&] {
    REQUIRE(eventually([&] { return spectra.wanted().has_value(); }));
    std::this_thread::sleep_for(50ms);
    spectra.give_up("mnist", "no room for 5 MB");
  });
  const std::string why = message_of<Unavailable>([&] { spectra.wait_for("mnist"); });
  worker.join();
  CHECK(contains(why, "no room for 5 MB"));
  CHECK_FALSE(spectra.wanted());
  spectra.ask("mnist");
  CHECK(room.serve_wanted(spectra));
  CHECK(spectra.wait_for("mnist"));
}

TEST_CASE("a warning is for rates above the limit, and names it") {
  Room room;
  room.make();
  const Spectra spectra(room.data, room.datasets, false);
  const auto spectrum = spectra.known("mnist");
  REQUIRE(spectrum);
  const double limit = spectrum->stability_limit();
  CHECK_FALSE(stability_warning(spec_of(5, limit), *spectrum));
  CHECK_FALSE(stability_warning(spec_of(5, limit / 2), *spectrum));
  const auto warning = stability_warning(spec_of(5, 0.25 + limit), *spectrum);
  REQUIRE(warning);
  CHECK(contains(*warning, format_limit(limit)));
  CHECK(contains(*warning, "above the stability limit of mnist"));
  CHECK(format_limit(0.02563273437) == "0.0256327");
}
