// Jobs, metrics, checkpoints and models in one SQLite file. Every function is one transaction, on disk when it returns
// (WAL, synchronous=FULL). Any thread; calls exclude one another. Throws StoreError; those that write throw it also where the
// file is not in its place any more. Those that change one job throw NotFound where there is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/errors.h"
#include "server/job.h"

namespace mnistd::server {

class SqliteDatabase;

struct Idempotency {
  std::string key;
  std::string request;  // the request in a canonical form; the same key with another request is a mismatch
};

template <class T>
struct Page {
  std::vector<T> items;
  std::optional<std::int64_t> next;  // pass as `before` for the next page
};

class JobStore {
 public:
  // Opens or creates the file and brings an older schema up to date. A newer schema, or a file that is no database, is
  // a StoreError that says so.
  explicit JobStore(const std::filesystem::path& file);
  ~JobStore();

  // --- jobs
  struct Inserted {
    Job job;
    bool repeated = false;  // an earlier job with the same key and request
  };
  // Stores a new job and gives it its sequence. With a key seen before, stores nothing and gives the earlier job.
  // Throws IdempotencyMismatch.
  Inserted insert(const Job& job, const std::optional<Idempotency>& idempotency);
  // The job that this key and request made earlier. Throws IdempotencyMismatch.
  std::optional<Job> find_repeated(const Idempotency& idempotency);
  std::optional<Job> find(const std::string& id);
  // Newest first, those with sequence < before; limit ≥ 1.
  Page<Job> list(std::optional<JobState> state, int limit, std::optional<std::int64_t> before);
  std::vector<std::string> queued_ids();  // oldest first
  // Puts jobs that a crash or stop left running back to queued (the checkpoint stays); gives their ids.
  std::vector<std::string> requeue_running();
  void rename(const std::string& id, const std::optional<std::string>& name);
  // Keeps an earlier started_at and dataset_digest.
  void set_running(const std::string& id, Time started_at, const std::string& device,
                   const std::optional<std::string>& dataset_digest = std::nullopt);
  void set_queued(const std::string& id);  // of a drained running job
  // That the job is to be cancelled, so that a crash does not forget it; nothing where it has ended.
  void request_cancel(const std::string& id, Time when);
  // Jobs that are to be cancelled and have not ended, oldest first.
  std::vector<std::string> cancel_requested_ids();
  // Writes the job's state, progress, result, warnings, error and finished_at, with its model where it made one, and
  // drops its checkpoint. Where the last stored row is further than the progress, its values take the progress's place: of
  // a job that ended while it was catching up after a crash, the rows of its earlier life go further.
  void finish(const Job& job, const std::optional<ModelRecord>& model);
  void erase(const std::string& id);  // job, metrics, checkpoint, its model's record

  // --- metrics and checkpoints
  // Rows with an iteration already there replace it.
  void append(const std::string& id, std::span<const model::MetricsRow> rows, const JobProgress& progress);
  std::vector<model::MetricsRow> rows(const std::string& id, int after_iteration, int limit);
  void save_checkpoint(const std::string& id, const model::Checkpoint& checkpoint);
  // Nothing also where it is damaged: a job that begins anew ends with the same weights.
  std::optional<model::Checkpoint> checkpoint(const std::string& id);

  // --- models
  std::optional<ModelRecord> find_model(const std::string& id);
  Page<ModelRecord> list_models(int limit, std::optional<std::int64_t> before);  // newest first
  std::vector<std::string> model_ids();                                          // newest first
  void erase_model(const std::string& id);  // the job's result stays; throws NotFound
  // The model activated by hand, if it is still there.
  std::optional<std::string> chosen_model();
  void choose_model(const std::optional<std::string>& id);

  // For readiness: looks whether the file is in its place, and writes and reads back a value unless that was done within the
  // last second. Throws StoreError with the reason.
  void check();

 private:
  void insert_model(const ModelRecord& model);  // within finish's transaction

  std::mutex mutex_;
  std::unique_ptr<SqliteDatabase> database_;
  std::optional<std::chrono::steady_clock::time_point> written_at_;  // by check
};

}  // namespace mnistd::server
