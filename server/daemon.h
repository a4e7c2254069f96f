// The daemon without its mouth: everything that api/ can ask for, and nothing of HTTP. Owns data dir, store, queue, event
// log, recorder, registry and worker, and holds their order of birth and death. Any thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/data_dir.h"
#include "server/errors.h"
#include "server/event_log.h"
#include "server/job_queue.h"
#include "server/job_store.h"
#include "server/model_registry.h"
#include "server/recorder.h"
#include "server/spectra.h"
#include "server/worker.h"

namespace mnistd::server {

struct DaemonOptions {
  std::filesystem::path data_dir = "data";
  std::map<std::string, std::filesystem::path> datasets = {{"mnist", "data/mnist"}};
  gpu::DeviceOptions device;
  std::size_t queue_limit = 100;
  bool first_training = true;  // queue the default training where there is no model and no job waiting
  bool eager_spectra = true;   // work out every dataset's stability limit at the start, or only when asked
};

class Daemon {
 public:
  // Loads the datasets, opens the device, takes up the jobs of an earlier life. Throws StartError, model::DatasetError,
  // gpu::DeviceError, StoreError.
  explicit Daemon(const DaemonOptions& options);
  ~Daemon();  // drain()

  // --- jobs
  struct Submission {
    JobSpec spec;
    std::optional<std::string> name;
    std::optional<Idempotency> idempotency;
    bool automatic_rate =
        false;  // the learning rate is the dataset's, see model::Spectrum; that of the spec is not used
  };
  // The job is on disk when this returns. An automatic rate may wait for the dataset's spectrum. Throws Unavailable, IdempotencyMismatch, StoreError. The spec must be valid.
  JobStore::Inserted submit(const Submission& submission);
  Job job(const std::string& id);  // with live progress; throws NotFound, as all that follow
  Page<Job> jobs(std::optional<JobState> state, int limit, std::optional<std::int64_t> before);
  Job rename(const std::string& id, const std::optional<std::string>& name);
  // The job as it is right after; harmless on an ended one. That it is to be cancelled is on disk when this returns; where
  // that can't be stored it throws StoreError, and the job goes on.
  Job cancel(const std::string& id);
  void purge(const std::string& id);  // throws WrongState "not-ended"
  std::vector<model::MetricsRow> metrics(const std::string& id, int after_iteration, int limit);

  // Events after `after`, at most `limit`, in order. Empty where nothing new has happened.
  std::vector<JobEvent> events(const std::string& id, EventPosition after, int limit);
  // For those who follow: see EventLog::version, wait.
  EventLog& log() { return log_; }

  // --- the rest
  ModelRegistry& models() { return *registry_; }
  const Datasets& datasets() const { return datasets_; }
  std::shared_ptr<const model::Dataset> dataset(const std::string& name) const;  // throws NotFound
  // The dataset's spectrum, for predictions of trainings and its stability limit. find: null until known, and asks for it. wait_for: throws
  // Unavailable. Both throw NotFound.
  std::shared_ptr<const model::Spectrum> find_spectrum(const std::string& dataset_name);
  std::shared_ptr<const model::Spectrum> wait_for_spectrum(const std::string& dataset_name);

  struct Status {
    gpu::DeviceInfo device;
    std::uint64_t device_memory_in_use = 0;
    std::size_t queued = 0, queue_limit = 0;
    std::optional<std::string> running_job;
    std::chrono::milliseconds uptime{0}, heartbeat_age{0};
    bool draining = false;
    std::filesystem::path data_dir;
  };
  Status status() const;
  // Empty when ready; else one line a reason (draining, worker silent for 30 s, device lost, store failing).
  std::vector<std::string> not_ready();

  // No new jobs; the running one checkpoints and goes back to queued; followers are woken. Again is harmless.
  void drain();

 private:
  Job require(const std::string& id);  // from the store; throws NotFound
  std::vector<model::MetricsRow> rows_after(const std::string& id, int after_iteration, int limit);
  void with_live_progress(Job& job) const;
  void finish_cancelled(Job job);  // in the store, for one that neither queue nor worker has
  void take_up_earlier_jobs();
  void queue_first_training();

  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  DataDir data_dir_;
  Datasets datasets_;
  std::unique_ptr<Spectra> spectra_;
  JobStore store_;
  JobQueue queue_;
  EventLog log_;
  std::mutex
      placing_;  // held while a job goes from the store to the queue, and while one is looked for there
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace mnistd::server
