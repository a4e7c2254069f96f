// How the event log works, and why.
//
// One job runs at a time, so there is one ring. The worker appends a row under the mutex and rings the bell; a reader
// takes copies under the same mutex, a few hundred rows at most. Nobody formats, writes or waits while holding it, so the
// worker is held up by microseconds however many clients follow, and never by a slow one.
//
// Two marks say where the rows are. stored_up_to_: rows up to this iteration are in the store. dropped_up_to_: rows up to
// this iteration may be missing here. A row may leave the ring only when it is stored, so everything up to dropped_up_to_
// is in the store at the moment that anybody learns of it: a reader whose place lies before the mark reads the store, and
// finds no gap. Where the store fails (disk full) nothing leaves, and the ring grows beyond its capacity: a job has at
// most a million rows of 40 bytes.
//
// The marks are iterations and not counts of rows, so it does not matter how far apart the reports are. A job that goes
// on from a checkpoint starts with both marks there.
//
// The bell is one counter for all jobs: a reader remembers the value from before it looked, and waits for another. So
// nothing that happens between the look and the wait is missed. Readers of quiet jobs wake needlessly, and look again;
// that is cheaper than a bell for each job.
#include "server/event_log.h"

#include <algorithm>

namespace mnistd::server {

void EventLog::begin(const std::string& job_id, int from_iteration) {
  {
    const std::lock_guard lock(mutex_);
    job_id_ = job_id;
    rows_.clear();
    dropped_up_to_ = from_iteration;
    stored_up_to_ = from_iteration;
    progress_.reset();
    ++version_;
  }
  changed_.notify_all();
}

void EventLog::append(const model::MetricsRow& row, const JobProgress& progress) {
  {
    const std::lock_guard lock(mutex_);
    rows_.push_back(row);
    progress_ = progress;
    shed();
    ++version_;
  }
  changed_.notify_all();
}

void EventLog::mark_stored(int iteration) {
  {
    const std::lock_guard lock(mutex_);
    stored_up_to_ = std::max(stored_up_to_, iteration);
    shed();
    ++version_;
  }
  changed_.notify_all();
}

void EventLog::shed() {
  while (rows_.size() > kCapacity && rows_.front().iteration <= stored_up_to_) {
    dropped_up_to_ = rows_.front().iteration;
    rows_.pop_front();
  }
}

void EventLog::ring() {
  {
    const std::lock_guard lock(mutex_);
    ++version_;
  }
  changed_.notify_all();
}

void EventLog::finish() {
  {
    const std::lock_guard lock(mutex_);
    job_id_.clear();
    rows_.clear();
    progress_.reset();
    ++version_;
  }
  changed_.notify_all();
}

void EventLog::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ++version_;
  }
  changed_.notify_all();
}

std::optional<EventLog::Recent> EventLog::recent(const std::string& job_id, int after_iteration,
                                                 int limit) const {
  const std::lock_guard lock(mutex_);
  if (job_id_.empty() || job_id != job_id_) return std::nullopt;
  Recent recent;
  recent.complete = after_iteration >= dropped_up_to_;
  const auto first = std::upper_bound(rows_.begin(), rows_.end(), after_iteration,
                                      [](int after, const auto& row) { return after < row.iteration; });
  const auto count = std::min<std::ptrdiff_t>(limit, rows_.end() - first);
  recent.rows.assign(first, first + count);
  return recent;
}

std::optional<JobProgress> EventLog::progress(const std::string& job_id) const {
  const std::lock_guard lock(mutex_);
  if (job_id_.empty() || job_id != job_id_) return std::nullopt;
  return progress_;
}

std::uint64_t EventLog::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::uint64_t EventLog::wait(std::uint64_t seen, std::chrono::steady_clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return closed_ || version_ != seen; });
  return version_;
}

bool EventLog::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace mnistd::server
