// One job in the worker's hands, from the queue to its end.
#include <spdlog/spdlog.h>

#include "server/worker.h"

namespace mnistd::server {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRetry{1};
constexpr std::chrono::milliseconds kFlushSlice{200};
constexpr std::chrono::seconds kDrainPatience{3};  // for a store that fails while the daemon wants to go

// Turns what the trainer reports into rows and progress.
class Reporter : public model::TrainObserver {
 public:
  Reporter(EventLog& log, Recorder& recorder, Job& job, int from_iteration, std::function<void()> beat)
      : log_(log), recorder_(recorder), job_(job), from_iteration_(from_iteration), beat_(std::move(beat)) {}

  void on_progress(const model::MetricsRow& row) override {
    JobProgress& progress = job_.progress;
    progress.iteration = row.iteration;
    progress.loss = row.loss;
    progress.train_accuracy = row.train_accuracy;
    progress.test_accuracy = row.test_accuracy;
    progress.ms_per_iteration = row.elapsed_ms / row.iteration;
    // By the clock on the wall, for that is what somebody who waits has: with test evaluation and checkpoints.
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    const int left = job_.spec.train.iterations - row.iteration;
    progress.eta_s = passed.count() / (row.iteration - from_iteration_) * left;
    recorder_.add(row, progress);
    log_.append(row, progress);
    beat_();
  }

  void on_checkpoint(const model::Checkpoint& checkpoint) override {
    recorder_.add(checkpoint);
    beat_();
  }

 private:
  EventLog& log_;
  Recorder& recorder_;
  Job& job_;
  const int from_iteration_;
  const std::function<void()> beat_;
  const Clock::time_point begin_ = Clock::now();
};

double percent(int correct, int total) { return 100.0 * correct / total; }

}  // namespace

// Does `work` on the store, again each second while it fails; false where the daemon drains before it worked.
bool Worker::persist(const std::function<void()>& work) {
  bool failed = false;
  for (;;) {
    beat();
    std::string why;
    try {
      work();
    } catch (const StoreError& error) {
      why = error.what();
    }
    std::unique_lock lock(mutex_);
    if (why.empty()) {
      store_trouble_.reset();
      if (failed) spdlog::info("the store works again");
      return true;
    }
    store_trouble_ = why;
    if (!failed) spdlog::warn("cannot store job {}: {}; trying again each second", running_id_, why);
    failed = true;
    changed_.wait_for(lock, drain_.get_token(), kRetry, [] { return false; });
    if (drain_.stop_requested()) return false;
  }
}

// Waits until all rows are on disk; false where the daemon drains and the store fails.
bool Worker::flush() {
  std::optional<Clock::time_point> give_up;
  while (!rooms_.recorder.flush(Clock::now() + kFlushSlice)) {
    beat();
    if (!drain_.stop_requested()) continue;
    if (!give_up) give_up = Clock::now() + kDrainPatience;
    if (Clock::now() >= *give_up) return false;
  }
  return true;
}

void Worker::run_job(gpu::Device& device, Resident& resident, const std::string& id) {
  std::optional<Job> found;
  std::optional<model::Checkpoint> resume;
  if (!persist([&] {
        found = rooms_.store.find(id);
        resume = rooms_.store.checkpoint(id);
      })) {
    return;
  }
  if (!found || has_ended(found->state)) return;
  Job& job = *found;
  if (drain_.stop_requested() && give_back()) return;  // as it was: queued
  if (cancel_requested() || job.cancel_requested_at) return end(job, JobState::cancelled);

  job.device = device.info().name;
  const auto dataset = resident.find(job.spec.dataset);
  const bool known = dataset != resident.end();
  const auto digest = known ? std::optional(dataset->second.host().digest) : std::nullopt;
  if (!persist([&] { rooms_.store.set_running(id, now(), job.device, digest); })) return;
  const int from_iteration = resume ? resume->iteration : 0;
  rooms_.recorder.begin(id);
  rooms_.log.begin(id, from_iteration);
  if (!known) {
    return fail(job, "no-dataset",
                "this daemon has no dataset named " + job.spec.dataset + "; start it with --dataset " +
                    job.spec.dataset + "=DIR and queue the job again");
  }
  if (job.dataset_digest && job.dataset_digest != digest) {
    return fail(job, "dataset-changed",
                "the dataset " + job.spec.dataset + " is not the one that this job began with (digest " +
                    *digest + ", it was " + *job.dataset_digest +
                    "), so its training cannot go on; submit it again to train on the present data");
  }
  if (resume) {
    spdlog::info("job {} goes on after iteration {} of {} on {}", id, from_iteration,
                 job.spec.train.iterations, job.device);
  } else {
    spdlog::info("job {} started on {}", id, job.device);
  }
  train_job(device, dataset->second, job, resume);
}

void Worker::train_job(gpu::Device& device, model::ResidentDataset& dataset, Job& job,
                       const std::optional<model::Checkpoint>& resume) {
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);
    stop = running_stop_.get_token();
  }
  Reporter reporter(rooms_.log, rooms_.recorder, job, resume ? resume->iteration : 0, [this, &device] {
    beat();
    device_memory_in_use_ = device.memory_in_use();
  });
  try {
    if (job.spec.train.solver == model::SolverKind::gram) take_gram(dataset, job.spec.dataset);
    const model::TrainResult result = model::train(device, dataset, job.spec.train, reporter, stop, resume);
    if (!result.stopped) return succeed(job, dataset.host(), result);
    if (!cancel_requested()) return suspend(job, result.state);
    end(job, JobState::cancelled);
  } catch (const model::Diverged& error) {
    if (error.iteration() > job.progress.iteration) {  // else it is the last row's, whose values are finite
      job.progress = JobProgress{};
      job.progress.iteration = error.iteration();
    }
    std::string message = error.what();
    if (const auto spectrum = rooms_.spectra.known(job.spec.dataset))
      message += ", below " + format_limit(spectrum->stability_limit()) + ", the stability limit of " +
                 job.spec.dataset;
    fail(job, "diverged", message);
  } catch (const gpu::OutOfDeviceMemory& error) {
    fail(job, "out-of-device-memory",
         std::string(error.what()) + "; close other programs on the device or train on a smaller dataset");
  } catch (const gpu::DeviceLost& error) {
    lose_device(error.what());
    fail(job, "device-lost", std::string(error.what()) + "; restart the daemon and queue the job again");
  } catch (const gpu::DeviceError& error) {
    fail(job, "device-error", error.what());
  } catch (const std::exception& error) {
    fail(job, "internal", error.what());
  }
}

// The Gram that is known, or a new one, which others may want as well.
void Worker::take_gram(model::ResidentDataset& dataset, const std::string& name) {
  if (const auto known = rooms_.spectra.gram(name)) return dataset.adopt(known);
  rooms_.spectra.give(name, dataset.gram());
  beat();
}

void Worker::warn_if_unstable(Job& job) {
  if (!job.warnings.empty()) return;
  const auto spectrum = rooms_.spectra.known(job.spec.dataset);
  const auto warning = spectrum ? stability_warning(job.spec, *spectrum) : std::nullopt;
  if (warning) job.warnings.push_back(*warning);
}

void Worker::succeed(Job& job, const model::Dataset& dataset, const model::TrainResult& result) {
  const int iterations = job.spec.train.iterations;
  const int train_count = dataset.train.count();
  const int test_count = dataset.test.count();
  job.state = JobState::succeeded;
  job.finished_at = now();
  job.progress.eta_s.reset();
  job.result = JobResult{.model_id = job.id,
                         .loss = result.loss,
                         .train_accuracy = static_cast<double>(result.train_correct) / train_count,
                         .test_accuracy = static_cast<double>(result.test_correct) / test_count,
                         .train_correct = result.train_correct,
                         .test_correct = result.test_correct,
                         .train_ms = result.train_ms,
                         .ms_per_iteration = result.train_ms / iterations};
  ModelRecord record{.id = job.id,
                     .name = job.name,
                     .spec = job.spec,
                     .loss = result.loss,
                     .train_count = train_count,
                     .train_correct = result.train_correct,
                     .test = {},
                     .created_at = *job.finished_at,
                     .dataset_digest = dataset.digest};
  const model::LinearModel linear(result.state.weights);
  record.test = model::evaluate(linear.labels(dataset.test.pixels), dataset.test.labels);

  warn_if_unstable(job);
  if (!flush()) return;
  if (!persist([&] {
        rooms_.registry.add(record, result.state.weights,
                            [&](const ModelRecord& written) { rooms_.store.finish(job, written); });
      })) {
    return;
  }
  rooms_.log.finish();
  spdlog::info(
      "job {} succeeded: {:.2f} % of train, {:.2f} % of test right, loss {:.6f}, {} iterations of {:.3g} ms",
      job.id, percent(result.train_correct, train_count), percent(result.test_correct, test_count),
      result.loss, iterations, job.result->ms_per_iteration);
}

void Worker::fail(Job& job, const std::string& code, const std::string& message) {
  job.result.reset();
  job.error = JobFailure{code, message};
  if (code == "diverged") warn_if_unstable(job);
  end(job, JobState::failed);
}

void Worker::end(Job& job, JobState state) {
  job.state = state;
  job.finished_at = now();
  job.progress.eta_s.reset();
  if (!flush() || !persist([&] { rooms_.store.finish(job, std::nullopt); })) return;
  rooms_.log.finish();
  if (job.error) {
    spdlog::warn("job {} failed at iteration {}: {}", job.id, job.progress.iteration, job.error->message);
  } else {
    spdlog::info("job {} cancelled after {} of {} iterations", job.id, job.progress.iteration,
                 job.spec.train.iterations);
  }
}

// Draining: the checkpoint is on disk before the job is queued again. Where the store fails the job stays running there,
// and the next start goes on from an older checkpoint, to the same weights.
void Worker::suspend(const Job& job, const model::Checkpoint& checkpoint) {
  rooms_.recorder.add(checkpoint);
  if (!flush() || !persist([&] { rooms_.store.set_queued(job.id); })) {
    spdlog::warn("job {} could not be stored at iteration {}; it goes on from an older checkpoint", job.id,
                 checkpoint.iteration);
    return;
  }
  if (!give_back()) {  // a cancel came while the checkpoint was written
    Job cancelled = job;
    return end(cancelled, JobState::cancelled);
  }
  rooms_.log.finish();
  spdlog::info("job {} waits for the next start after iteration {} of {}", job.id, checkpoint.iteration,
               job.spec.train.iterations);
}

}  // namespace mnistd::server
