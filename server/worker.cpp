// How the worker works, and why.
//
// A device belongs to one thread, and this is it: it opens the device, makes the datasets resident, and then takes one
// job after the other from the queue. Nobody waits for it and it waits for nobody but the queue; rows and checkpoints go
// to the log and the recorder, which take them without touching a disk.
//
// Stopping. Two wishes can end a training early, and they end it differently: a cancel makes the job cancelled, a drain
// sends it back to the queue with a checkpoint. Both use the stop token of the running job, and the flag
// cancel_requested_ tells them apart afterwards; a cancel that comes while draining wins, until the worker gives the job
// back and says so under the same lock. The queue hands over an id and
// running_id_ under one lock (see job_queue.cpp), so a cancel never finds a job nowhere.
//
// Ending. A job's end is told only when it is on disk: first its rows (flush), then its weights file, then one transaction
// with the job's end and its model. Where the store fails, the worker tries again each second and takes no other job: the
// result exists only here. If the daemon drains meanwhile, the job stays running in the store, and the next start trains
// it again from its checkpoint, to the same weights.
//
// Heartbeat. Idle, the worker beats each second. In training it beats with every report, and with every checkpoint, which
// the trainer makes at least every four seconds however far apart the reports are; while it waits for the store, with
// every attempt. So half a minute of silence means that one iteration hangs, which only a sick device does.
//
// The Gram of a dataset is the device's work too. It is computed between jobs, before the first one where the daemon is new,
// and takes a fraction of a second once in a dataset's life; what is done with it is not this thread's (spectra.h).
//
// A lost device (DeviceLost) fails the job that met it. The thread stays, so that drain and join work, but takes no
// further job: those wait in the queue for a daemon with a working device.
#include "server/worker.h"

#include <spdlog/spdlog.h>

namespace mnistd::server {

namespace {

constexpr std::chrono::milliseconds kIdleBeat{1000};

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Worker::Worker(OpenDevice open_device, const Datasets& datasets, Rooms rooms) : rooms_(rooms) {
  beat();
  std::promise<void> started;
  std::future<void> ready = started.get_future();
  thread_ =
      std::thread([this, open = std::move(open_device), datasets, promise = std::move(started)]() mutable {
        run(open, datasets, std::move(promise));
      });
  try {
    ready.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Worker::~Worker() { drain(); }

bool Worker::cancel(const std::string& job_id) {
  std::stop_source stop;
  {
    const std::lock_guard lock(mutex_);
    if (running_id_ != job_id) return false;
    cancel_requested_ = true;
    stop = running_stop_;
  }
  stop.request_stop();
  return true;
}

void Worker::drain() {
  drain_.request_stop();
  std::stop_source stop;
  {
    const std::lock_guard lock(mutex_);
    stop = running_stop_;
  }
  stop.request_stop();
  changed_.notify_all();
  const std::lock_guard lock(join_);
  if (thread_.joinable()) thread_.join();
}

std::optional<std::string> Worker::running_job() const {
  const std::lock_guard lock(mutex_);
  return running_id_.empty() ? std::nullopt : std::optional(running_id_);
}

std::chrono::milliseconds Worker::heartbeat_age() const {
  return std::chrono::milliseconds(steady_ms() - heartbeat_ms_);
}

std::optional<std::string> Worker::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::optional<std::string> Worker::store_trouble() const {
  const std::lock_guard lock(mutex_);
  return store_trouble_;
}

void Worker::beat() { heartbeat_ms_ = steady_ms(); }

bool Worker::cancel_requested() const {
  const std::lock_guard lock(mutex_);
  return cancel_requested_;
}

bool Worker::give_back() {
  const std::lock_guard lock(mutex_);
  if (cancel_requested_) return false;
  running_id_.clear();
  return true;
}

void Worker::lose_device(const std::string& why) {
  spdlog::error("device lost: {}; no further job runs until the daemon is restarted", why);
  const std::lock_guard lock(mutex_);
  trouble_ = "device lost: " + why + "; restart the daemon, and the machine if that does not help";
}

void Worker::compute_wanted_grams(Resident& resident) {
  while (const auto name = rooms_.spectra.wanted()) {
    if (trouble() || drain_.stop_requested()) return;
    try {
      rooms_.spectra.give(*name, resident.at(*name).gram());
    } catch (const gpu::DeviceLost& error) {
      rooms_.spectra.give_up(*name, error.what());
      lose_device(error.what());
    } catch (const std::exception& error) {
      spdlog::warn("dataset {}: its Gram was not computed: {}", *name, error.what());
      rooms_.spectra.give_up(*name, error.what());
    }
    beat();
  }
}

void Worker::run(const OpenDevice& open_device, const Datasets& datasets, std::promise<void> started) {
  std::unique_ptr<gpu::Device> device;
  Resident resident;  // goes before its device
  try {
    device = open_device();
    for (const auto& [name, dataset] : datasets) resident.try_emplace(name, *device, dataset);
    device_info_ = device->info();
    device_memory_in_use_ = device->memory_in_use();
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  started.set_value();

  while (!rooms_.queue.is_closed() && !drain_.stop_requested()) {
    beat();
    if (trouble()) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, drain_.get_token(), kIdleBeat, [] { return false; });
      continue;
    }
    compute_wanted_grams(resident);
    const auto id = rooms_.queue.pop(kIdleBeat, [this](const std::string& taken) {
      const std::lock_guard lock(mutex_);
      running_id_ = taken;
      running_stop_ = {};
      cancel_requested_ = false;
    });
    if (!id) continue;
    try {
      run_job(*device, resident, *id);
    } catch (const std::exception& error) {  // not the job's own failure, which run_job stores
      spdlog::error("job {} is left as it is: {}", *id, error.what());
      rooms_.log.finish();
    }
    device_memory_in_use_ = device->memory_in_use();
    const std::lock_guard lock(mutex_);
    running_id_.clear();
  }
}

}  // namespace mnistd::server
