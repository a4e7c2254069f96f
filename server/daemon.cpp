#include "server/daemon.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

namespace mnistd::server {

namespace {

constexpr int kRetryWhenFull_s = 5;
constexpr int kRetryWhenDraining_s = 10;
constexpr std::chrono::seconds kSilence{30};  // of the worker, after which it counts as hanging
constexpr int kFirstTrainingIterations = 300;
constexpr double kFirstTrainingRate = 0.01;

Datasets load_datasets(const std::map<std::string, std::filesystem::path>& directories) {
  Datasets datasets;
  for (const auto& [name, directory] : directories) {
    datasets.emplace(name, model::load_dataset(name, directory));
    spdlog::info("dataset {}: {} images to train with, {} to test with, from {}", name,
                 datasets[name]->train.count(), datasets[name]->test.count(), directory.string());
  }
  return datasets;
}

// Adds events to a list that has room for `limit`.
class EventList {
 public:
  EventList(EventPosition after, int limit) : after_(after), limit_(limit) {}
  int room() const { return limit_ - static_cast<int>(events_.size()); }
  void add_state(int iteration, EventPosition::Rank rank, JobState state) {
    const EventPosition position{iteration, rank};
    if (position > after_ && room() > 0) events_.push_back({position, state, {}});
  }
  void add_row(const model::MetricsRow& row) {
    events_.push_back({{row.iteration, EventPosition::progress}, JobState::running, row});
  }
  std::vector<JobEvent> take() { return std::move(events_); }

 private:
  const EventPosition after_;
  const int limit_;
  std::vector<JobEvent> events_;
};

}  // namespace

Daemon::Daemon(const DaemonOptions& options)
    : data_dir_(options.data_dir),
      datasets_(load_datasets(options.datasets)),
      spectra_(std::make_unique<Spectra>(data_dir_, datasets_, options.eager_spectra)),
      store_(data_dir_.database()),
      queue_(options.queue_limit) {
  registry_ = std::make_unique<ModelRegistry>(data_dir_, store_);
  recorder_ = std::make_unique<Recorder>(store_, log_);
  worker_ =
      std::make_unique<Worker>([device = options.device] { return gpu::Device::open(device); }, datasets_,
                               Worker::Rooms{queue_, store_, log_, *recorder_, *registry_, *spectra_});
  const gpu::DeviceInfo& device = worker_->device();
  spdlog::info("device {}: {} ({}, {} compute units)", device.backend, device.name, device.architecture,
               device.compute_units);
  if (!device.reason.empty()) spdlog::info("{}", device.reason);
  take_up_earlier_jobs();
  if (options.first_training) queue_first_training();
}

Daemon::~Daemon() { drain(); }

void Daemon::take_up_earlier_jobs() {
  for (const std::string& id : store_.cancel_requested_ids()) {
    if (auto job = store_.find(id)) finish_cancelled(std::move(*job));
  }
  const std::vector<std::string> interrupted = store_.requeue_running();
  const std::vector<std::string> queued = store_.queued_ids();
  for (const std::string& id : queued) queue_.restore(id);
  if (!queued.empty()) {
    spdlog::info("jobs of an earlier run: {} queued, {} of them were running when it was killed",
                 queued.size(), interrupted.size());
  }
}

void Daemon::queue_first_training() {
  if (datasets_.empty() || queue_.size() > 0 || worker_->running_job() || !store_.model_ids().empty()) return;
  Submission first;
  first.name = "first training";
  if (!datasets_.contains(first.spec.dataset)) first.spec.dataset = datasets_.begin()->first;
  first.spec.train.iterations = kFirstTrainingIterations;
  first.spec.train.learning_rate = kFirstTrainingRate;
  first.spec.train.report_every = model::default_report_every(kFirstTrainingIterations);
  try {
    submit(first);
  } catch (const Unavailable& error) {
    spdlog::warn("no first training: {}", error.what());
  }
}

JobStore::Inserted Daemon::submit(const Submission& submission) {
  // A repeated request needs no place, so it is answered also where the queue is full.
  if (submission.idempotency) {
    if (auto earlier = store_.find_repeated(*submission.idempotency)) {
      with_live_progress(*earlier);
      return {std::move(*earlier), true};
    }
  }
  data_dir_.check();
  JobSpec spec = submission.spec;
  const auto spectrum =
      submission.automatic_rate ? wait_for_spectrum(spec.dataset) : spectra_->known(spec.dataset);
  if (submission.automatic_rate) spec.train.learning_rate = spectrum->automatic_rate();
  if (!queue_.reserve()) {
    if (queue_.is_closed()) {
      throw Unavailable(kRetryWhenDraining_s, "the daemon is shutting down and takes no new jobs");
    }
    throw Unavailable(kRetryWhenFull_s, "the queue is full (" + std::to_string(queue_.limit()) +
                                            " jobs); wait for one to end or cancel one");
  }
  Job job;
  job.created_at = now();
  job.id = new_job_id(job.created_at);
  job.name = submission.name;
  job.spec = spec;
  if (spectrum) {
    if (auto warning = stability_warning(spec, *spectrum)) job.warnings.push_back(std::move(*warning));
  }
  job.device = worker_->device().name;
  JobStore::Inserted inserted;
  try {
    const std::lock_guard placing(placing_);
    inserted = store_.insert(job, submission.idempotency);
    if (!inserted.repeated) queue_.push(inserted.job.id);
  } catch (...) {
    queue_.cancel_reservation();
    throw;
  }
  if (inserted.repeated) {
    queue_.cancel_reservation();
    with_live_progress(inserted.job);
    return inserted;
  }
  log_.ring();
  const model::TrainSpec& train = inserted.job.spec.train;
  spdlog::info("job {} queued: {} on {}, {}, {} iterations at {}", inserted.job.id, inserted.job.spec.model,
               inserted.job.spec.dataset, to_string(train.solver), train.iterations, train.learning_rate);
  return inserted;
}

Job Daemon::require(const std::string& id) {
  auto job = store_.find(id);
  if (!job) throw NotFound("no job " + id);
  return std::move(*job);
}

void Daemon::with_live_progress(Job& job) const {
  if (job.state != JobState::running) return;
  if (const auto progress = log_.progress(job.id)) job.progress = *progress;
}

Job Daemon::job(const std::string& id) {
  Job job = require(id);
  with_live_progress(job);
  return job;
}

Page<Job> Daemon::jobs(std::optional<JobState> state, int limit, std::optional<std::int64_t> before) {
  Page<Job> page = store_.list(state, limit, before);
  for (Job& job : page.items) with_live_progress(job);
  return page;
}

Job Daemon::rename(const std::string& id, const std::optional<std::string>& name) {
  store_.rename(id, name);
  registry_->refresh(id);
  log_.ring();
  return job(id);
}

Job Daemon::cancel(const std::string& id) {
  {
    // With placing_ held a job that has not ended is in the queue, with the worker, or given back by it for good.
    const std::lock_guard placing(placing_);
    Job job = require(id);
    if (has_ended(job.state)) return job;
    // The wish is stored before anything is stopped: what is promised here outlives a crash, and where it can't be stored
    // the job goes on untouched.
    store_.request_cancel(id, now());
    const bool was_queued = queue_.remove(id);
    if (was_queued || !worker_->cancel(id)) {
      job = require(id);  // the worker may have ended it just now
      if (has_ended(job.state)) return job;
      try {
        finish_cancelled(std::move(job));
      } catch (...) {
        if (was_queued) queue_.restore(id);  // the worker will find the wish
        throw;
      }
    }
  }
  log_.ring();
  return job(id);
}

void Daemon::finish_cancelled(Job job) {
  job.state = JobState::cancelled;
  job.finished_at = now();
  job.progress.eta_s.reset();
  store_.finish(job, std::nullopt);
  spdlog::info("job {} cancelled before it ran on", job.id);
}

void Daemon::purge(const std::string& id) {
  const Job job = require(id);
  if (!has_ended(job.state)) {
    throw WrongState("not-ended", "job " + id + " is " + std::string(to_string(job.state)) +
                                      "; cancel it and wait for its end before it is purged");
  }
  store_.erase(id);
  registry_->forget(id);
  log_.ring();
}

// The rows are in the ring, or in the store, or in both. Where the ring says that some are only in the store, they are
// there already, so one of the two has no gap; the ring is asked first, for what it has dropped meanwhile is stored.
std::vector<model::MetricsRow> Daemon::rows_after(const std::string& id, int after_iteration, int limit) {
  if (limit <= 0) return {};
  auto recent = log_.recent(id, after_iteration, limit);
  if (recent && recent->complete) return std::move(recent->rows);
  return store_.rows(id, after_iteration, limit);
}

std::vector<model::MetricsRow> Daemon::metrics(const std::string& id, int after_iteration, int limit) {
  require(id);
  return rows_after(id, after_iteration, limit);
}

std::vector<JobEvent> Daemon::events(const std::string& id, EventPosition after, int limit) {
  // The job before its rows: where it says that it has ended, all its rows are stored, and where it says that it has not
  // begun, none is told before its "running" is.
  const Job job = require(id);
  // Beyond the end of an ended job: told a row that a crash took before it was stored, and the job was cancelled before it
  // was told again. Whoever saw it still sees how the job ended.
  if (has_ended(job.state) && after.iteration > job.progress.iteration) {
    after = {job.progress.iteration, EventPosition::progress};
  }
  EventList list(after, limit);
  list.add_state(0, EventPosition::queued, JobState::queued);
  if (job.started_at) {
    list.add_state(0, EventPosition::running, JobState::running);
    const bool before_row = after.rank < EventPosition::progress;
    const int from = after.iteration - (before_row ? 1 : 0);
    // The ring of a job that ended while it was catching up after a crash lacks the last rows of its earlier life.
    for (const auto& row :
         has_ended(job.state) ? store_.rows(id, from, list.room()) : rows_after(id, from, list.room())) {
      list.add_row(row);
    }
  }
  if (has_ended(job.state)) {  // room is left only where no row is
    list.add_state(job.progress.iteration, EventPosition::final_state, job.state);
    list.add_state(job.progress.iteration, EventPosition::end, job.state);
  }
  return list.take();
}

std::shared_ptr<const model::Dataset> Daemon::dataset(const std::string& name) const {
  const auto found = datasets_.find(name);
  if (found != datasets_.end()) return found->second;
  std::string names;
  for (const auto& [known, dataset] : datasets_) names += (names.empty() ? "" : ", ") + known;
  throw NotFound("no dataset " + name + "; this daemon has " + (names.empty() ? "none" : names));
}

std::shared_ptr<const model::Spectrum> Daemon::find_spectrum(const std::string& dataset_name) {
  dataset(dataset_name);
  return spectra_->ask(dataset_name);
}

std::shared_ptr<const model::Spectrum> Daemon::wait_for_spectrum(const std::string& dataset_name) {
  dataset(dataset_name);
  return spectra_->wait_for(dataset_name);
}

Daemon::Status Daemon::status() const {
  Status status;
  status.device = worker_->device();
  status.device_memory_in_use = worker_->device_memory_in_use();
  status.queued = queue_.size();
  status.queue_limit = queue_.limit();
  status.running_job = worker_->running_job();
  status.uptime =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
  status.heartbeat_age = worker_->heartbeat_age();
  status.draining = queue_.is_closed();
  status.data_dir = data_dir_.path();
  return status;
}

std::vector<std::string> Daemon::not_ready() {
  std::vector<std::string> reasons;
  const auto add = [&](const std::optional<std::string>& reason) {
    if (reason && std::find(reasons.begin(), reasons.end(), *reason) == reasons.end())
      reasons.push_back(*reason);
  };
  if (queue_.is_closed()) {
    add("draining");
  } else if (const auto age = worker_->heartbeat_age(); age > kSilence) {
    add("the worker has been silent for " + std::to_string(age.count() / 1000) + " s");
  }
  add(worker_->trouble());
  add(worker_->store_trouble());
  add(recorder_->trouble());
  try {
    store_.check();
    data_dir_.check();  // where both are gone, the store says it
  } catch (const StoreError& error) {
    add(error.what());
  }
  return reasons;
}

void Daemon::drain() {
  queue_.close();
  log_.close();
  if (worker_) worker_->drain();
}

}  // namespace mnistd::server
