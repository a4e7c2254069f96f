// The one thread that touches the device: takes jobs from the queue and trains.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "gpu/device.h"
#include "model/dataset.h"
#include "server/event_log.h"
#include "server/job_queue.h"
#include "server/job_store.h"
#include "server/model_registry.h"
#include "server/recorder.h"

namespace mnistd::server {

using Datasets = std::map<std::string, std::shared_ptr<const model::Dataset>>;

class Worker {
 public:
  struct Rooms {  // what it works with; all outlive it
    JobQueue& queue;
    JobStore& store;
    EventLog& log;
    Recorder& recorder;
    ModelRegistry& registry;
  };
  // Starts the thread, which opens the device and makes the datasets resident; returns when that is done and throws what
  // it threw.
  Worker(const gpu::DeviceOptions& options, const Datasets& datasets, Rooms rooms);
  ~Worker();  // drain() and join

  const gpu::DeviceInfo& device() const { return device_info_; }
  std::uint64_t device_memory_in_use() const { return device_memory_in_use_; }

  // Stops the running job if it is this one; it ends as cancelled within one iteration or 50 ms.
  void cancel(const std::string& job_id);
  // Takes no further job; the running one writes a checkpoint and goes back to queued. The queue must be closed.
  void drain();

  // Since the worker last showed that it lives (an iteration, or an idle beat each second).
  std::chrono::milliseconds heartbeat_age() const;
  std::optional<std::string> trouble() const;  // device lost: why; no job can run any more

 private:
  void run(const gpu::DeviceOptions& options, const Datasets& datasets, std::promise<void>& started);
  void run_job(gpu::Device& device, const std::map<std::string, model::ResidentDataset>& resident, Job job);

  Rooms rooms_;
  gpu::DeviceInfo device_info_;
  std::atomic<std::uint64_t> device_memory_in_use_{0};
  std::atomic<std::int64_t> heartbeat_ms_{0};
  mutable std::mutex mutex_;
  std::string running_id_;
  std::stop_source running_stop_;
  bool cancel_requested_ = false;
  std::stop_source drain_;
  std::optional<std::string> trouble_;
  std::thread thread_;
};

}  // namespace mnistd::server
