// The running job's newest metrics rows in memory, and the bell that wakes those who follow any job.
//
// The worker appends and never waits for a reader. The ring keeps kCapacity rows, and more while the store cannot take
// them: what leaves it is in the store already (the recorder says how far it is), so a reader that fell behind reads the
// store. States are not kept here: a bell is rung and the reader looks at the job.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/job.h"

namespace mnistd::server {

class EventLog {
 public:
  static constexpr std::size_t kCapacity = 4096;

  // --- worker and recorder
  void begin(const std::string& job_id,
             int from_iteration);  // rows of iterations > from_iteration will follow
  void append(const model::MetricsRow& row, const JobProgress& progress);
  void mark_stored(int iteration);  // rows up to here are in the store
  void ring();                      // a job changed its state
  void finish();                    // the running job ended; its rows are all stored
  void close();                     // wakes everybody for good (draining)

  // --- readers
  struct Recent {
    std::vector<model::MetricsRow> rows;  // iteration > after, at most `limit`
    bool complete = false;                // false: some rows after `after` are only in the store
  };
  // Nothing where the job is not the running one; no progress either before its first row of this life.
  std::optional<Recent> recent(const std::string& job_id, int after_iteration, int limit) const;
  std::optional<JobProgress> progress(const std::string& job_id) const;

  // Changes with everything that happens. Waits until it differs from `seen` or the deadline; gives the present value.
  std::uint64_t version() const;
  std::uint64_t wait(std::uint64_t seen, std::chrono::steady_clock::time_point deadline) const;
  bool is_closed() const;

 private:
  void shed();  // drops stored rows beyond the capacity

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::string job_id_;
  std::deque<model::MetricsRow> rows_;
  int dropped_up_to_ = 0;  // iterations ≤ this are not (all) in rows_
  int stored_up_to_ = 0;
  std::optional<JobProgress> progress_;
  std::uint64_t version_ = 0;
  bool closed_ = false;
};

}  // namespace mnistd::server
