// The store's jobs: from their insertion to their end.
#include <algorithm>
#include <limits>

#include "server/job_columns.h"
#include "server/job_store.h"

namespace mnistd::server {

namespace {

const std::string kJobColumns =
    std::string("jobs.sequence, jobs.id, jobs.state, jobs.name, ") + kSpecColumns +
    ", jobs.progress_iteration, jobs.progress_loss, jobs.progress_train_accuracy, "
    "jobs.progress_test_accuracy, "
    "jobs.progress_ms_per_iteration, jobs.progress_eta_s, "
    "jobs.result_model_id, jobs.result_loss, jobs.result_train_accuracy, jobs.result_test_accuracy, "
    "jobs.result_train_correct, jobs.result_test_correct, jobs.result_train_ms, "
    "jobs.result_ms_per_iteration, "
    "jobs.warnings, jobs.error_code, jobs.error_message, "
    "jobs.created_at, jobs.started_at, jobs.finished_at, jobs.device, jobs.dataset_digest, "
    "jobs.cancel_requested_at";

std::int64_t to_integer(Time time) { return time.time_since_epoch().count(); }
Time to_time(std::int64_t milliseconds) { return Time(std::chrono::milliseconds(milliseconds)); }

std::optional<std::int64_t> to_integer(const std::optional<Time>& time) {
  return time ? std::optional(to_integer(*time)) : std::nullopt;
}
std::optional<Time> to_time(const std::optional<std::int64_t>& milliseconds) {
  return milliseconds ? std::optional(to_time(*milliseconds)) : std::nullopt;
}

std::string to_lines(const std::vector<std::string>& warnings) {
  std::string lines;
  for (std::string warning : warnings) {
    std::replace(warning.begin(), warning.end(), '\n', ' ');
    lines += (lines.empty() ? "" : "\n") + warning;
  }
  return lines;
}

std::vector<std::string> from_lines(const std::string& lines) {
  std::vector<std::string> warnings;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    warnings.push_back(lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return warnings;
}

JobProgress read_progress(Statement& row) {
  JobProgress progress;
  progress.iteration = row.get<int>();
  progress.loss = row.get<std::optional<double>>();
  progress.train_accuracy = row.get<std::optional<double>>();
  progress.test_accuracy = row.get<std::optional<double>>();
  progress.ms_per_iteration = row.get<std::optional<double>>();
  progress.eta_s = row.get<std::optional<double>>();
  return progress;
}

std::optional<JobResult> read_result(Statement& row) {
  const auto model_id = row.get<std::optional<std::string>>();
  JobResult result;
  result.loss = row.get<double>();
  result.train_accuracy = row.get<double>();
  result.test_accuracy = row.get<double>();
  result.train_correct = row.get<int>();
  result.test_correct = row.get<int>();
  result.train_ms = row.get<double>();
  result.ms_per_iteration = row.get<double>();
  if (!model_id) return std::nullopt;
  result.model_id = *model_id;
  return result;
}

Job read_job(const SqliteDatabase& database, Statement& row) {
  Job job;
  job.sequence = row.get<std::int64_t>();
  job.id = row.get<std::string>();
  const auto state = row.get<std::string>();
  const auto parsed = parse_job_state(state);
  if (!parsed) database.fail("job " + job.id + " has the unknown state \"" + state + "\"");
  job.state = *parsed;
  job.name = row.get<std::optional<std::string>>();
  job.spec = read_spec(database, row);
  job.progress = read_progress(row);
  job.result = read_result(row);
  job.warnings = from_lines(row.get<std::string>());
  const auto error_code = row.get<std::optional<std::string>>();
  const auto error_message = row.get<std::optional<std::string>>();
  if (error_code) job.error = JobFailure{*error_code, error_message.value_or("")};
  job.created_at = to_time(row.get<std::int64_t>());
  job.started_at = to_time(row.get<std::optional<std::int64_t>>());
  job.finished_at = to_time(row.get<std::optional<std::int64_t>>());
  job.device = row.get<std::string>();
  job.dataset_digest = row.get<std::optional<std::string>>();
  job.cancel_requested_at = to_time(row.get<std::optional<std::int64_t>>());
  return job;
}

std::optional<Job> find_job(SqliteDatabase& database, const std::string& id) {
  Statement row(database, "SELECT " + kJobColumns + " FROM jobs WHERE id = ?");
  row.bind(id);
  return row.step() ? std::optional(read_job(database, row)) : std::nullopt;
}

// The job's progress, or that of its last row where this is further.
JobProgress last_progress(SqliteDatabase& database, const Job& job) {
  Statement row(database,
                "SELECT iteration, loss, train_accuracy, test_accuracy, elapsed_ms / iteration FROM metrics "
                "WHERE job = (SELECT sequence FROM jobs WHERE id = ?) ORDER BY iteration DESC LIMIT 1");
  row.bind(job.id);
  if (!row.step()) return job.progress;
  JobProgress progress;
  progress.iteration = row.get<int>();
  progress.loss = row.get<std::optional<double>>();
  progress.train_accuracy = row.get<std::optional<double>>();
  progress.test_accuracy = row.get<std::optional<double>>();
  progress.ms_per_iteration = row.get<std::optional<double>>();
  return progress.iteration > job.progress.iteration ? progress : job.progress;
}

std::optional<Job> find_by_key(SqliteDatabase& database, const Idempotency& idempotency) {
  Statement row(database,
                "SELECT " + kJobColumns + ", idempotency_request FROM jobs WHERE idempotency_key = ?");
  row.bind(idempotency.key);
  if (!row.step()) return std::nullopt;
  Job job = read_job(database, row);
  if (row.get<std::string>() != idempotency.request) {
    throw IdempotencyMismatch("idempotency key \"" + idempotency.key + "\" was used before, for job " +
                              job.id + ", with another request; use a new key");
  }
  return job;
}

void require_one(const SqliteDatabase& database, const std::string& id) {
  if (database.changes() == 0) throw NotFound("no job " + id);
}

}  // namespace

JobSpec read_spec(const SqliteDatabase& database, Statement& row) {
  JobSpec spec;
  spec.dataset = row.get<std::string>();
  spec.model = row.get<std::string>();
  const auto solver = row.get<std::string>();
  const auto parsed = model::parse_solver(solver);
  if (!parsed) database.fail("a job has the solver \"" + solver + "\", which this program does not know");
  spec.train.solver = *parsed;
  spec.train.iterations = row.get<int>();
  spec.train.learning_rate = row.get<double>();
  spec.train.seed = static_cast<std::uint32_t>(row.get<std::int64_t>());
  spec.train.report_every = row.get<int>();
  return spec;
}

JobStore::Inserted JobStore::insert(const Job& job, const std::optional<Idempotency>& idempotency) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  if (idempotency) {
    if (auto earlier = find_by_key(*database_, *idempotency)) return {std::move(*earlier), true};
  }
  const model::TrainSpec& train = job.spec.train;
  Statement(
      *database_,
      "INSERT INTO jobs (id, state, name, dataset, model, solver, iterations, learning_rate, seed, "
      "report_every, progress_iteration, warnings, created_at, started_at, finished_at, device, "
      "idempotency_key, idempotency_request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)")
      .bind(job.id, to_string(job.state), job.name, job.spec.dataset, job.spec.model, to_string(train.solver),
            train.iterations, train.learning_rate, std::int64_t{train.seed}, train.report_every,
            to_lines(job.warnings), to_integer(job.created_at), to_integer(job.started_at),
            to_integer(job.finished_at), job.device,
            idempotency ? std::optional(idempotency->key) : std::nullopt,
            idempotency ? std::optional(idempotency->request) : std::nullopt)
      .run();
  Job stored = job;
  stored.sequence = database_->last_insert_rowid();
  transaction.commit();
  return {std::move(stored), false};
}

std::optional<Job> JobStore::find_repeated(const Idempotency& idempotency) {
  const std::lock_guard lock(mutex_);
  return find_by_key(*database_, idempotency);
}

std::optional<Job> JobStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return find_job(*database_, id);
}

Page<Job> JobStore::list(std::optional<JobState> state, int limit, std::optional<std::int64_t> before) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, "SELECT " + kJobColumns + " FROM jobs WHERE sequence < ?" +
                                (state ? " AND state = ?" : "") + " ORDER BY sequence DESC LIMIT ?");
  row.bind(before.value_or(std::numeric_limits<std::int64_t>::max()));
  if (state) row.bind(to_string(*state));
  row.bind(std::int64_t{limit} + 1);
  Page<Job> page;
  while (row.step()) {
    if (static_cast<int>(page.items.size()) == limit) {
      page.next = page.items.back().sequence;
      break;
    }
    page.items.push_back(read_job(*database_, row));
  }
  return page;
}

std::vector<std::string> JobStore::queued_ids() {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, "SELECT id FROM jobs WHERE state = 'queued' ORDER BY sequence");
  std::vector<std::string> ids;
  while (row.step()) ids.push_back(row.get<std::string>());
  return ids;
}

std::vector<std::string> JobStore::requeue_running() {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  std::vector<std::string> ids;
  {
    Statement row(*database_, "SELECT id FROM jobs WHERE state = 'running' ORDER BY sequence");
    while (row.step()) ids.push_back(row.get<std::string>());
  }
  Statement(*database_, "UPDATE jobs SET state = 'queued', progress_eta_s = NULL WHERE state = 'running'")
      .run();
  transaction.commit();
  return ids;
}

void JobStore::rename(const std::string& id, const std::optional<std::string>& name) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_, "UPDATE jobs SET name = ? WHERE id = ?").bind(name, id).run();
  require_one(*database_, id);
  transaction.commit();
}

void JobStore::set_running(const std::string& id, Time started_at, const std::string& device,
                           const std::optional<std::string>& dataset_digest) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_,
            "UPDATE jobs SET state = 'running', started_at = coalesce(started_at, ?), device = ?, "
            "dataset_digest = coalesce(dataset_digest, ?) WHERE id = ?")
      .bind(to_integer(started_at), device, dataset_digest, id)
      .run();
  require_one(*database_, id);
  transaction.commit();
}

void JobStore::set_queued(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_, "UPDATE jobs SET state = 'queued', progress_eta_s = NULL WHERE id = ?")
      .bind(id)
      .run();
  require_one(*database_, id);
  transaction.commit();
}

void JobStore::request_cancel(const std::string& id, Time when) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_,
            "UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, ?) "
            "WHERE id = ? AND state IN ('queued', 'running')")
      .bind(to_integer(when), id)
      .run();
  transaction.commit();
}

std::vector<std::string> JobStore::cancel_requested_ids() {
  const std::lock_guard lock(mutex_);
  Statement row(*database_,
                "SELECT id FROM jobs WHERE state IN ('queued', 'running') "
                "AND cancel_requested_at IS NOT NULL ORDER BY sequence");
  std::vector<std::string> ids;
  while (row.step()) ids.push_back(row.get<std::string>());
  return ids;
}

void JobStore::finish(const Job& job, const std::optional<ModelRecord>& model) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  const JobProgress progress = last_progress(*database_, job);
  Statement(
      *database_,
      "UPDATE jobs SET state = ?, progress_iteration = ?, progress_loss = ?, progress_train_accuracy = ?, "
      "progress_test_accuracy = ?, progress_ms_per_iteration = ?, progress_eta_s = ?, warnings = ?, "
      "finished_at = ? WHERE id = ?")
      .bind(to_string(job.state), progress.iteration, progress.loss, progress.train_accuracy,
            progress.test_accuracy, progress.ms_per_iteration, progress.eta_s, to_lines(job.warnings),
            to_integer(job.finished_at), job.id)
      .run();
  require_one(*database_, job.id);
  if (job.result) {
    const JobResult& result = *job.result;
    Statement(
        *database_,
        "UPDATE jobs SET result_model_id = ?, result_loss = ?, result_train_accuracy = ?, "
        "result_test_accuracy = ?, result_train_correct = ?, result_test_correct = ?, result_train_ms = ?, "
        "result_ms_per_iteration = ? WHERE id = ?")
        .bind(result.model_id, result.loss, result.train_accuracy, result.test_accuracy, result.train_correct,
              result.test_correct, result.train_ms, result.ms_per_iteration, job.id)
        .run();
  }
  if (job.error) {
    Statement(*database_, "UPDATE jobs SET error_code = ?, error_message = ? WHERE id = ?")
        .bind(job.error->code, job.error->message, job.id)
        .run();
  }
  Statement(*database_, "DELETE FROM checkpoints WHERE job = (SELECT sequence FROM jobs WHERE id = ?)")
      .bind(job.id)
      .run();
  if (model) insert_model(*model);
  transaction.commit();
}

void JobStore::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM settings WHERE key = 'chosen_model' AND value = ?").bind(id).run();
  Statement(*database_, "DELETE FROM jobs WHERE id = ?").bind(id).run();  // the rest goes by its foreign keys
  require_one(*database_, id);
  transaction.commit();
}

}  // namespace mnistd::server
