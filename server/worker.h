// The one thread that touches the device: takes jobs from the queue and trains.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
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
#include "server/spectra.h"

namespace mnistd::server {

class Worker {
 public:
  struct Rooms {  // what it works with; all outlive it
    JobQueue& queue;
    JobStore& store;
    EventLog& log;
    Recorder& recorder;
    ModelRegistry& registry;
    Spectra& spectra;
  };
  using OpenDevice = std::function<std::unique_ptr<gpu::Device>()>;
  // Starts the thread, which calls `open_device` and makes the datasets resident; returns when that is done and throws what
  // it threw.
  Worker(OpenDevice open_device, const Datasets& datasets, Rooms rooms);
  ~Worker();  // drain() and join

  const gpu::DeviceInfo& device() const { return device_info_; }
  std::uint64_t device_memory_in_use() const { return device_memory_in_use_; }

  // Stops the job if the worker has it; it ends as cancelled within one iteration or 50 ms. False where it has not.
  bool cancel(const std::string& job_id);
  // Takes no further job; the running one writes a checkpoint and goes back to queued. Returns when
  // the thread has ended. The queue must be closed. Again is harmless.
  void drain();

  std::optional<std::string> running_job() const;
  // Since the worker last showed that it lives: see the essay in worker.cpp.
  std::chrono::milliseconds heartbeat_age() const;
  std::optional<std::string> trouble() const;  // device lost: why; no job can run any more

  // Why the end of a job can't be stored; tried again each second.
  std::optional<std::string> store_trouble() const;

 private:
  using Resident = std::map<std::string, model::ResidentDataset>;

  void run(const OpenDevice& open_device, const Datasets& datasets, std::promise<void> started);
  void beat();
  bool cancel_requested() const;
  bool give_back();  // the job is no longer the worker's; false where a cancel came first
  void lose_device(const std::string& why);
  void compute_wanted_grams(Resident& resident);

  // One job; in worker_job.cpp.
  void run_job(gpu::Device& device, Resident& resident, const std::string& id);
  void train_job(gpu::Device& device, model::ResidentDataset& dataset, Job& job,
                 const std::optional<model::Checkpoint>& resume);
  void take_gram(model::ResidentDataset& dataset, const std::string& name);
  void warn_if_unstable(Job& job);  // where it was not known yet when the job was submitted
  void succeed(Job& job, const model::Dataset& dataset, const model::TrainResult& result);
  void fail(Job& job, const std::string& code, const std::string& message);
  void end(Job& job, JobState state);
  void suspend(const Job& job, const model::Checkpoint& checkpoint);
  bool persist(const std::function<void()>& work);
  bool flush();

  Rooms rooms_;
  gpu::DeviceInfo device_info_;
  std::atomic<std::uint64_t> device_memory_in_use_{0};
  std::atomic<std::int64_t> heartbeat_ms_{0};
  std::stop_source drain_;
  mutable std::mutex mutex_;  // of the members below
  std::condition_variable_any changed_;
  std::string running_id_;
  std::stop_source running_stop_;
  bool cancel_requested_ = false;
  std::optional<std::string> trouble_, store_trouble_;
  std::mutex join_;
  std::thread thread_;
};

}  // namespace mnistd::server
