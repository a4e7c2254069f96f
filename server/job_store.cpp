// How the store is laid out, and why.
//
// One SQLite file, one connection, one mutex: the writes of a day of training are small, and SQLite would make writers
// take turns anyway. WAL with synchronous=FULL makes a commit one append and one sync, durable when it returns, and lets
// other programs (the sqlite3 shell) read while the daemon runs.
//
// jobs        one row a job, everything that Job holds in columns of its own
// metrics     a job's reported iterations; the key makes a row that is told again after a crash replace itself
// checkpoints where a running job can go on; dropped when it ends. They are of the job's dataset_digest: it is set when the
//             job begins, and a job that finds other data later fails
// models      what a succeeded job made, beside its weights file; name and spec are the job's
// settings    the model chosen by hand, and the value that readiness writes
//
// The schema's version is user_version; migrations are steps from one version to the next, each in the transaction that
// also sets the version. application_id tells this file from other programs' databases.
//
// A file that is removed or replaced under an open database takes writes without a word, and they are gone with the
// process. So every write first looks whether the path still leads to the file that is open (see Transaction).
#include "server/job_store.h"

#include <array>
#include <chrono>

#include "server/sqlite.h"

namespace mnistd::server {

namespace {

constexpr std::chrono::seconds kFresh{1};            // probes come often, and each would cost a sync
constexpr std::int64_t kApplicationId = 0x4d4e5344;  // "MNSD"

// Step i brings a schema of version i to version i + 1.
constexpr std::array<const char*, 2> kMigrations = {
    R"sql(
CREATE TABLE jobs (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  name TEXT,
  dataset TEXT NOT NULL,
  model TEXT NOT NULL,
  solver TEXT NOT NULL,
  iterations INTEGER NOT NULL,
  learning_rate REAL NOT NULL,
  seed INTEGER NOT NULL,
  report_every INTEGER NOT NULL,
  progress_iteration INTEGER NOT NULL,
  progress_loss REAL,
  progress_train_accuracy REAL,
  progress_test_accuracy REAL,
  progress_ms_per_iteration REAL,
  progress_eta_s REAL,
  result_model_id TEXT,
  result_loss REAL,
  result_train_accuracy REAL,
  result_test_accuracy REAL,
  result_train_correct INTEGER,
  result_test_correct INTEGER,
  result_train_ms REAL,
  result_ms_per_iteration REAL,
  warnings TEXT NOT NULL,                -- one a line
  error_code TEXT,
  error_message TEXT,
  created_at INTEGER NOT NULL,           -- ms since 1970 UTC, as the other times
  started_at INTEGER,
  finished_at INTEGER,
  device TEXT NOT NULL,
  idempotency_key TEXT UNIQUE,
  idempotency_request TEXT
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, sequence);

CREATE TABLE metrics (
  job INTEGER NOT NULL REFERENCES jobs (sequence) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  loss REAL,
  train_accuracy REAL,
  test_accuracy REAL,
  elapsed_ms REAL,
  PRIMARY KEY (job, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
  job INTEGER PRIMARY KEY REFERENCES jobs (sequence) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  train_ms REAL NOT NULL,
  weights BLOB NOT NULL                  -- float32 in this machine's byte order
) STRICT;

CREATE TABLE models (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  job INTEGER NOT NULL UNIQUE REFERENCES jobs (sequence) ON DELETE CASCADE,
  loss REAL,
  train_count INTEGER NOT NULL,
  train_correct INTEGER NOT NULL,
  confusion TEXT NOT NULL,               -- of the test split: 100 counts, by truth, then by prediction
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE jobs ADD COLUMN dataset_digest TEXT;          -- of the data that the job began with
ALTER TABLE jobs ADD COLUMN cancel_requested_at INTEGER;
ALTER TABLE models ADD COLUMN weights_digest TEXT;        -- of the weights file's bytes
)sql"};

constexpr std::int64_t kSchemaVersion = kMigrations.size();

// Refuses what is not ours before anything is written to it.
void check_identity(SqliteDatabase& database) {
  const std::int64_t application = database.integer("PRAGMA application_id");
  const std::int64_t version = database.integer("PRAGMA user_version");
  const bool empty = database.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (empty) return;
  if (application != kApplicationId) {
    database.fail("is a database of another program; move the file away or give another --data-dir");
  }
  if (version > kSchemaVersion) {
    database.fail("was written by a newer mnistd (schema " + std::to_string(version) +
                  ", this program knows up to " + std::to_string(kSchemaVersion) +
                  "); run that version or give another --data-dir");
  }
}

void migrate(SqliteDatabase& database) {
  Transaction transaction(database);
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version == kSchemaVersion) return;
  for (std::int64_t step = version; step < kSchemaVersion; ++step) database.execute(kMigrations[step]);
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  transaction.commit();
}

}  // namespace

JobStore::JobStore(const std::filesystem::path& file) : database_(std::make_unique<SqliteDatabase>(file)) {
  check_identity(*database_);
  if (database_->is_read_only()) {
    database_->fail("is read-only; let this user write the file and its directory");
  }
  {
    Statement journal(*database_, "PRAGMA journal_mode = WAL");
    if (!journal.step() || journal.get<std::string>() != "wal") {
      database_->fail("its file system cannot hold a write-ahead log; give a --data-dir on a local disk");
    }
  }
  database_->execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  migrate(*database_);
  database_->remember_place();
}

JobStore::~JobStore() = default;

void JobStore::check() {
  const std::lock_guard lock(mutex_);
  database_->require_in_place();
  const auto begin = std::chrono::steady_clock::now();
  if (written_at_ && begin - *written_at_ < kFresh) return;
  const std::string value = std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  Transaction transaction(*database_);
  Statement(*database_, "INSERT OR REPLACE INTO settings (key, value) VALUES ('readiness', ?)")
      .bind(value)
      .run();
  transaction.commit();
  Statement read(*database_, "SELECT value FROM settings WHERE key = 'readiness'");
  if (!read.step() || read.get<std::string>() != value) {
    database_->fail("does not give back what was written; look at the disk");
  }
  written_at_ = begin;
}

}  // namespace mnistd::server
