#include "server/worker.h"

#include <thread>

#include <doctest/doctest.h>

#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;
using namespace std::chrono_literals;

namespace {

// What goes wrong with the device, and when; shared by a test and its device.
struct Faults {
  std::atomic<bool> no_memory{false};
  std::atomic<int> lost_after{-1};   // downloads
  std::atomic<int> error_after{-1};  // downloads
};

// The CPU device, with faults.
class FaultyDevice final : public gpu::Device {
 public:
  explicit FaultyDevice(Faults& faults)
      : faults_(faults), inner_(gpu::Device::open({.backend = gpu::Backend::cpu, .threads = 1})) {}
  const gpu::DeviceInfo& info() const override { return inner_->info(); }
  gpu::Ops& ops() override { return inner_->ops(); }
  std::uint64_t memory_in_use() const override { return inner_->memory_in_use(); }
  std::uint64_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  int pipeline_depth() const override { return inner_->pipeline_depth(); }
  void synchronize() override { inner_->synchronize(); }
  gpu::Event record() override { return inner_->record(); }
  double elapsed_ms(gpu::Event begin, gpu::Event end) override { return inner_->elapsed_ms(begin, end); }
  void* allocate(std::size_t bytes) override {
    if (faults_.no_memory)
      throw gpu::OutOfDeviceMemory(bytes, "no room for " + std::to_string(bytes) + " bytes");
    return inner_->allocate(bytes);
  }
  void release(void* memory) noexcept override { inner_->release(memory); }
  void upload(void* device, const void* host, std::size_t bytes) override {
    inner_->upload(device, host, bytes);
  }
  void download(void* host, const void* device, std::size_t bytes) override {
    if (faults_.lost_after >= 0 && faults_.lost_after-- == 0)
      throw gpu::DeviceLost("the card fell off the bus");
    if (faults_.error_after >= 0 && faults_.error_after-- == 0) throw gpu::DeviceError("launch failed");
    inner_->download(host, device, bytes);
  }
  void fill_zero(void* device, std::size_t bytes) override { inner_->fill_zero(device, bytes); }
  gpu::Limits measure_limits() override { return inner_->measure_limits(); }
  void empty_cache() override { inner_->empty_cache(); }

 private:
  Faults& faults_;
  std::unique_ptr<gpu::Device> inner_;
};

struct Room {
  TemporaryDirectory directory;
  DataDir data{directory.path() / "data"};
  JobStore store{data.database()};
  JobQueue queue{100};
  EventLog log;
  ModelRegistry registry{data, store};
  Recorder recorder{store, log};
  Datasets datasets;
  std::optional<Spectra> spectra;
  Faults faults;
  std::optional<Worker> worker;

  Room() {
    write_dataset(directory.path() / "mnist");
    datasets["mnist"] = model::load_dataset("mnist", directory.path() / "mnist");
    spectra.emplace(data, datasets, false);
    worker.emplace([this] { return std::make_unique<FaultyDevice>(faults); }, datasets,
                   Worker::Rooms{queue, store, log, recorder, registry, *spectra});
  }
  ~Room() {
    queue.close();
    worker.reset();
  }
  std::string submit(const JobSpec& spec) {
    const Job job = store.insert(queued_job(spec), std::nullopt).job;
    queue.restore(job.id);
    return job.id;
  }
  Job ended(const std::string& id) {
    REQUIRE(eventually([&] { return has_ended(store.find(id)->state) && !worker->running_job(); }));
    return *store.find(id);
  }
};

}  // namespace

TEST_CASE("what the device throws when it is opened is thrown to who starts the worker") {
  TemporaryDirectory directory;
  DataDir data(directory.path());
  JobStore store(data.database());
  JobQueue queue(1);
  EventLog log;
  ModelRegistry registry(data, store);
  Recorder recorder(store, log);
  Spectra spectra(data, {}, true);
  const auto start = [&] {
    Worker worker(
        []() -> std::unique_ptr<gpu::Device> { throw gpu::NoSuchDevice("no card in this machine"); }, {},
        {queue, store, log, recorder, registry, spectra});
  };
  CHECK(message_of<gpu::NoSuchDevice>(start) == "no card in this machine");
}

TEST_CASE("a device without room for a Gram: who waits is told, jobs run, and it is tried again when asked") {
  Room room;
  room.faults.no_memory = true;
  CHECK(contains(message_of<Unavailable>([&] { room.spectra->wait_for("mnist"); }), "no room for"));
  CHECK_FALSE(room.worker->trouble());
  room.faults.no_memory = false;
  CHECK(room.ended(room.submit(spec_of(5))).state == JobState::succeeded);
  REQUIRE(room.spectra->wait_for("mnist"));
}

TEST_CASE("a device that is lost while a Gram is computed is lost") {
  Room room;
  room.faults.lost_after = 0;
  CHECK(contains(message_of<Unavailable>([&] { room.spectra->wait_for("mnist"); }), "fell off the bus"));
  REQUIRE(eventually([&] { return room.worker->trouble().has_value(); }));
}

TEST_CASE("a device without room fails the job; the next one runs") {
  Room room;
  room.faults.no_memory = true;
  const Job failed = room.ended(room.submit(spec_of(5)));
  CHECK(failed.state == JobState::failed);
  CHECK(failed.error->code == "out-of-device-memory");
  CHECK(contains(failed.error->message, "no room for "));
  CHECK(failed.started_at);
  CHECK(failed.finished_at);
  room.faults.no_memory = false;
  CHECK(room.ended(room.submit(spec_of(5))).state == JobState::succeeded);
  CHECK_FALSE(room.worker->trouble());
}

TEST_CASE("another device error fails the job with its message; the next one runs") {
  Room room;
  room.faults.error_after = 20;
  const Job failed = room.ended(room.submit(spec_of(1000)));
  CHECK(failed.error->code == "device-error");
  CHECK(failed.error->message == "launch failed");
  CHECK(failed.progress.iteration > 0);
  CHECK(failed.progress.iteration == room.store.rows(failed.id, 0, 1000).back().iteration);
  CHECK(room.ended(room.submit(spec_of(5))).state == JobState::succeeded);
}

TEST_CASE("a lost device fails its job, and those that follow stay queued") {
  Room room;
  room.faults.lost_after = 20;
  const std::string first = room.submit(spec_of(1000)), second = room.submit(spec_of(5));
  const Job failed = room.ended(first);
  CHECK(failed.error->code == "device-lost");
  CHECK(contains(failed.error->message, "the card fell off the bus"));
  REQUIRE(room.worker->trouble());
  CHECK(contains(*room.worker->trouble(), "the card fell off the bus"));
  std::this_thread::sleep_for(1500ms);
  CHECK(room.store.find(second)->state == JobState::queued);
  CHECK(room.queue.size() == 1);
  CHECK(room.worker->heartbeat_age() < 5s);
}

TEST_CASE("a job for a dataset that is not there any more fails with what to do") {
  Room room;
  JobSpec spec = spec_of(5);
  spec.dataset = "fashion";
  const Job failed = room.ended(room.submit(spec));
  CHECK(failed.error->code == "no-dataset");
  CHECK(contains(failed.error->message, "--dataset fashion=DIR"));
}

TEST_CASE("the heart beats at rest and at work, however far apart reports are") {
  Room room;
  std::chrono::milliseconds oldest{0};
  const auto watch = [&](std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      oldest = std::max(oldest, room.worker->heartbeat_age());
      std::this_thread::sleep_for(5ms);
    }
  };
  watch(1500ms);
  CHECK(oldest < 3s);
  const std::string id = room.submit(spec_of(1'000'000, 0.0001, 1'000'000));
  REQUIRE(eventually([&] { return room.log.progress(id).has_value(); }));
  watch(6s);
  CHECK(room.worker->running_job() == id);
  CHECK(oldest > 1s);
  CHECK(oldest < 6s);  // a checkpoint each four seconds
  CHECK(room.worker->cancel(id));
  CHECK(room.ended(id).state == JobState::cancelled);
  CHECK_FALSE(room.worker->cancel(id));
}

TEST_CASE("a full disk at the end of a job: it is told again until it is stored") {
  constexpr int kIterations = 10'000;
  Room room;
  const std::string id = room.submit(spec_of(kIterations, 0.0005));
  REQUIRE(eventually([&] { return room.log.progress(id).has_value(); }));
  FullDisk full;
  REQUIRE(eventually([&] { return room.recorder.trouble().has_value(); }));
  std::this_thread::sleep_for(1500ms);
  CHECK(room.store.find(id)->state == JobState::running);
  full.heal();
  CHECK(room.ended(id).state == JobState::succeeded);
  CHECK(room.store.rows(id, 0, kIterations + 1).size() == kIterations);
  CHECK(room.registry.active()->record.id == id);
  CHECK_FALSE(room.recorder.trouble());
  CHECK_FALSE(room.worker->store_trouble());
}

TEST_CASE("draining with a full disk gives up soon, and the job stays to be taken up again") {
  Room room;
  const std::string id = room.submit(spec_of(1'000'000, 0.0001));
  REQUIRE(eventually([&] { return room.store.rows(id, 0, 1).size() == 1; }));
  FullDisk full;
  REQUIRE(eventually([&] { return room.recorder.trouble().has_value(); }));
  const auto begin = std::chrono::steady_clock::now();
  room.queue.close();
  room.worker->drain();
  CHECK(std::chrono::steady_clock::now() - begin < 8s);
  full.heal();
  CHECK(room.store.find(id)->state == JobState::running);
  CHECK(room.store.requeue_running() == std::vector{id});
}
