// The store's metrics rows and checkpoints.
#include <cstring>

#include <spdlog/spdlog.h>

#include "server/job_store.h"
#include "server/sqlite.h"

namespace mnistd::server {

namespace {

std::int64_t sequence_of(SqliteDatabase& database, const std::string& id) {
  Statement row(database, "SELECT sequence FROM jobs WHERE id = ?");
  row.bind(id);
  if (!row.step()) throw NotFound("no job " + id);
  return row.get<std::int64_t>();
}

}  // namespace

void JobStore::append(const std::string& id, std::span<const model::MetricsRow> rows,
                      const JobProgress& progress) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  const std::int64_t job = sequence_of(*database_, id);
  for (const model::MetricsRow& row : rows) {
    Statement(
        *database_,
        "INSERT OR REPLACE INTO metrics (job, iteration, loss, train_accuracy, test_accuracy, elapsed_ms) "
        "VALUES (?, ?, ?, ?, ?, ?)")
        .bind(job, row.iteration, row.loss, row.train_accuracy, row.test_accuracy, row.elapsed_ms)
        .run();
  }
  Statement(
      *database_,
      "UPDATE jobs SET progress_iteration = ?, progress_loss = ?, progress_train_accuracy = ?, "
      "progress_test_accuracy = ?, progress_ms_per_iteration = ?, progress_eta_s = ? WHERE sequence = ?")
      .bind(progress.iteration, progress.loss, progress.train_accuracy, progress.test_accuracy,
            progress.ms_per_iteration, progress.eta_s, job)
      .run();
  transaction.commit();
}

std::vector<model::MetricsRow> JobStore::rows(const std::string& id, int after_iteration, int limit) {
  const std::lock_guard lock(mutex_);
  Statement row(
      *database_,
      "SELECT iteration, loss, train_accuracy, test_accuracy, elapsed_ms FROM metrics "
      "WHERE job = (SELECT sequence FROM jobs WHERE id = ?) AND iteration > ? ORDER BY iteration LIMIT ?");
  row.bind(id, after_iteration, limit);
  std::vector<model::MetricsRow> rows;
  while (row.step()) {
    model::MetricsRow& metrics = rows.emplace_back();
    metrics.iteration = row.get<int>();
    metrics.loss = row.get<double>();
    metrics.train_accuracy = row.get<double>();
    metrics.test_accuracy = row.get<double>();
    metrics.elapsed_ms = row.get<double>();
  }
  return rows;
}

void JobStore::save_checkpoint(const std::string& id, const model::Checkpoint& checkpoint) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_,
            "INSERT OR REPLACE INTO checkpoints (job, iteration, train_ms, weights) VALUES (?, ?, ?, ?)")
      .bind(sequence_of(*database_, id), checkpoint.iteration, checkpoint.train_ms,
            std::as_bytes(std::span(checkpoint.weights)))
      .run();
  transaction.commit();
}

std::optional<model::Checkpoint> JobStore::checkpoint(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_,
                "SELECT checkpoints.iteration, train_ms, weights FROM checkpoints "
                "JOIN jobs ON jobs.sequence = checkpoints.job WHERE jobs.id = ?");
  row.bind(id);
  if (!row.step()) return std::nullopt;
  model::Checkpoint checkpoint;
  checkpoint.iteration = row.get<int>();
  checkpoint.train_ms = row.get<double>();
  const auto bytes = row.get<std::vector<std::byte>>();
  if (bytes.size() % sizeof(float) != 0) {
    spdlog::warn("the checkpoint of job {} is damaged ({} bytes); it begins anew", id, bytes.size());
    return std::nullopt;
  }
  checkpoint.weights.resize(bytes.size() / sizeof(float));
  std::memcpy(checkpoint.weights.data(), bytes.data(), bytes.size());
  return checkpoint;
}

}  // namespace mnistd::server
