// How the recorder works, and why.
//
// The worker must not wait for a disk, and a commit with its sync costs milliseconds where an iteration may cost
// microseconds. So the worker leaves its rows here, and this thread writes what has gathered about every 300 ms, sooner
// when many wait: one transaction for all of them. That keeps a row's way to the disk well under the promised second and
// the cost of storing below a percent.
//
// Rows go before the checkpoint that was taken after them. So a checkpoint in the store means that all rows up to it
// are there too, and a job that goes on from it leaves no gap.
//
// Rows stay in rows_ until the store has them. Where it fails (disk full, most often) nothing is lost: the thread waits a
// second and tries the same rows again, says so once in the log and once when it is over, and the training goes on
// meanwhile. The wait is bounded without a limit of our own: a job has at most a million rows of 40 bytes, and its end
// waits for them.
#include "server/recorder.h"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace mnistd::server {

namespace {

constexpr std::chrono::milliseconds kGather{300};
constexpr std::chrono::seconds kRetry{1};
constexpr std::size_t kMany = 2'000;    // rows that do not wait for kGather
constexpr std::size_t kBatch = 20'000;  // rows of one transaction: some 50 ms, for other calls wait for it

}  // namespace

Recorder::Recorder(JobStore& store, EventLog& log)
    : store_(store), log_(log), thread_([this](std::stop_token stop) { run(stop); }) {}

Recorder::~Recorder() {
  thread_.request_stop();
  thread_.join();
}

void Recorder::begin(const std::string& job_id) {
  const std::lock_guard lock(mutex_);
  job_id_ = job_id;
  rows_.clear();
  checkpoint_.reset();
}

void Recorder::add(const model::MetricsRow& row, const JobProgress& progress) {
  bool first = false;
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    first = !has_work();
    rows_.push_back(row);
    progress_ = progress;
    many = rows_.size() == kMany;
  }
  if (first || many) changed_.notify_all();
}

void Recorder::add(const model::Checkpoint& checkpoint) {
  {
    const std::lock_guard lock(mutex_);
    checkpoint_ = checkpoint;
  }
  changed_.notify_all();
}

bool Recorder::flush(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  hurry_ = has_work();
  changed_.notify_all();
  return changed_.wait_until(lock, deadline, [&] { return !has_work() && !writing_; });
}

std::optional<std::string> Recorder::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Recorder::run(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!changed_.wait(lock, stop, [&] { return has_work(); })) break;
    changed_.wait_for(lock, stop, kGather, [&] { return hurry_ || rows_.size() >= kMany; });
    if (!write(lock)) changed_.wait_for(lock, stop, kRetry, [] { return false; });
  }
  while (has_work() && write(lock)) {
  }
}

bool Recorder::write(std::unique_lock<std::mutex>& lock) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(rows_.size(), kBatch));
  const std::vector<model::MetricsRow> batch(rows_.begin(), rows_.begin() + count);
  const bool all_rows = batch.size() == rows_.size();
  const std::optional<model::Checkpoint> checkpoint = all_rows ? checkpoint_ : std::nullopt;
  const std::string job_id = job_id_;
  const JobProgress progress = progress_;
  writing_ = true;
  lock.unlock();

  bool rows_written = false;
  std::optional<std::string> failure;
  try {
    if (!batch.empty()) {
      store_.append(job_id, batch, progress);
      rows_written = true;
      log_.mark_stored(batch.back().iteration);
    }
    if (checkpoint) store_.save_checkpoint(job_id, *checkpoint);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure && !trouble_) {
    spdlog::warn("cannot store the progress of job {}: {}; it is kept in memory and tried again each second",
                 job_id, *failure);
  } else if (!failure && trouble_) {
    spdlog::info("the progress of job {} is stored again; nothing was lost", job_id);
  }

  lock.lock();
  if (rows_written) rows_.erase(rows_.begin(), rows_.begin() + count);
  if (!failure && checkpoint && checkpoint_ && checkpoint_->iteration == checkpoint->iteration)
    checkpoint_.reset();
  trouble_ = failure;
  writing_ = false;
  if (!has_work()) hurry_ = false;
  changed_.notify_all();
  return !failure;
}

}  // namespace mnistd::server
