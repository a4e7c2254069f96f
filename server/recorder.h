// Takes rows and checkpoints from the worker and puts them in the store from a thread of its own, in batches, so that a
// slow disk does not slow the training and a row is on disk well within a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "server/event_log.h"
#include "server/job_store.h"

namespace mnistd::server {

class Recorder {
 public:
  Recorder(JobStore& store, EventLog& log);
  ~Recorder();  // writes what is left, once

  // --- the worker's thread; these do not wait for the disk
  void begin(const std::string& job_id);
  void add(const model::MetricsRow& row, const JobProgress& progress);
  void add(const model::Checkpoint& checkpoint);  // replaces one that still waits

  // Waits until all that was added is on disk, or the deadline: false then. Meanwhile a store that fails (disk full) is
  // tried again each second, as ever.
  bool flush(std::chrono::steady_clock::time_point deadline);

  std::optional<std::string> trouble() const;  // why the last write failed, until one works again

 private:
  void run(std::stop_token stop);
  bool has_work() const { return !rows_.empty() || checkpoint_; }
  bool write(std::unique_lock<std::mutex>& lock);  // one batch; false where the store failed

  JobStore& store_;
  EventLog& log_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string job_id_;
  std::deque<model::MetricsRow> rows_;  // not on disk yet
  JobProgress progress_;
  std::optional<model::Checkpoint> checkpoint_;
  bool writing_ = false;
  bool hurry_ = false;
  std::optional<std::string> trouble_;
  std::jthread thread_;  // last: starts when the rest is there
};

}  // namespace mnistd::server
