// Files that earlier versions wrote are brought up to date, with what is in them.
#include <doctest/doctest.h>

#include "server/job_store.h"
#include "server/sqlite.h"
#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;

namespace {

// Version 1 as it was released; not to be changed.
constexpr const char* kVersion1 = R"sql(
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

PRAGMA application_id = 1296978756;
PRAGMA user_version = 1;

INSERT INTO jobs VALUES (1, 'done', 'succeeded', 'a name', 'mnist', 'linear', 'gemm', 300, 0.01, 7, 1, 300, 0.25, 0.5,
  0.75, 1.5, NULL, 'done', 0.2, 0.5, 0.75, 30000, 7500, 450.0, 1.5, 'a warning', NULL, NULL, 1000, 2000, 3000,
  'a card', 'key', '{}');
INSERT INTO jobs VALUES (2, 'interrupted', 'running', NULL, 'mnist', 'linear', 'gemm', 900, 0.02, 8, 2, 40, 0.5, 0.25,
  0.125, 2.5, 60.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, 4000, 5000, NULL, 'a card', NULL,
  NULL);
INSERT INTO metrics VALUES (2, 40, 0.5, 0.25, 0.125, 100.0);
INSERT INTO checkpoints VALUES (2, 40, 100.0, x'0000803f0000003f');
INSERT INTO settings VALUES ('chosen_model', 'done');
)sql";

}  // namespace

TEST_CASE("a file of version 1 becomes one of version 2 and loses nothing") {
  TemporaryDirectory directory;
  const auto file = directory.path() / "mnistd.sqlite3";
  {
    SqliteDatabase old(file);
    old.execute(kVersion1);
    std::string counts = "0";
    for (int i = 1; i < 100; ++i) counts += " " + std::to_string(i);
    Statement(old, "INSERT INTO models VALUES (5, 1, 0.2, 60000, 30000, ?, 3000)").bind(counts).run();
  }
  for (int start = 0; start < 2; ++start) {
    JobStore store(file);
    SqliteDatabase database(file);
    CHECK(database.integer("PRAGMA user_version") == 2);
    CHECK(database.integer("SELECT count(*) FROM pragma_table_info('jobs') WHERE name IN "
                           "('dataset_digest', 'cancel_requested_at')") == 2);

    const auto done = store.find("done");
    REQUIRE(done);
    CHECK(done->state == JobState::succeeded);
    CHECK(done->name == "a name");
    CHECK(done->warnings == std::vector<std::string>{"a warning"});
    CHECK(done->spec.train.seed == 7);
    CHECK(done->result->train_correct == 30'000);
    CHECK(done->finished_at == Time(std::chrono::milliseconds(3000)));
    CHECK(done->device == "a card");
    CHECK_FALSE(done->dataset_digest);
    CHECK_FALSE(done->cancel_requested_at);
    CHECK(store.find_repeated({"key", "{}"})->id == "done");

    const auto model = store.find_model("done");
    REQUIRE(model);
    CHECK(model->train_count == 60'000);
    CHECK(model->test.confusion[4][2] == 42);
    CHECK_FALSE(model->weights_digest);
    CHECK_FALSE(model->dataset_digest);
    CHECK(store.chosen_model() == "done");

    CHECK(store.find("interrupted")->progress.eta_s == 60.0);
    CHECK(store.rows("interrupted", 0, 10).size() == 1);
    const auto checkpoint = store.checkpoint("interrupted");
    REQUIRE(checkpoint);
    CHECK(checkpoint->iteration == 40);
    CHECK(checkpoint->weights == std::vector{1.0F, 0.5F});
    CHECK(store.cancel_requested_ids().empty());
  }
}
