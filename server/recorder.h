// Takes rows and checkpoints from the worker and puts them in the store from a thread of its own, in batches, so that a
// slow disk does not slow the training and a row is on disk well within a second.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "server/event_log.h"
#include "server/job_store.h"

namespace mnistd::server {

class Recorder {
 public:
  Recorder(JobStore& store, EventLog& log);
  ~Recorder();  // writes what is left, once

  // --- the worker's thread; these do not wait for the disk (unless a million rows wait for it)
  void begin(const std::string& job_id);
  void add(const model::MetricsRow& row, const JobProgress& progress);
  void add(const model::Checkpoint& checkpoint);  // replaces one that still waits

  // Waits until all that was added is on disk. A store that fails (disk full) is tried again each second until it works
  // or `stop` is requested: false then.
  bool flush(std::stop_token stop);

  std::optional<std::string> trouble() const;  // why the last write failed, until one works again

 private:
  void run(std::stop_token stop);

  JobStore& store_;
  EventLog& log_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string job_id_;
  std::vector<model::MetricsRow> rows_;
  JobProgress progress_;
  std::optional<model::Checkpoint> checkpoint_;
  bool writing_ = false;
  bool hurry_ = false;
  std::optional<std::string> trouble_;
  std::jthread thread_;  // last: starts when the rest is there
};

}  // namespace mnistd::server
