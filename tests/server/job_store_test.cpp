#include "server/job_store.h"

#include <cmath>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;

namespace {

struct Store {
  TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "mnistd.sqlite3";
  JobStore store{file};
};

std::string insert(JobStore& store, const JobSpec& spec = {}) {
  return store.insert(queued_job(spec), std::nullopt).job.id;
}

Job rich_job() {
  Job job = queued_job();
  job.name = "Zürich \"quoted\" 'n' \n line";
  job.spec.dataset = "fashion";
  job.spec.model = "linear";
  job.spec.train = {.iterations = 1'000'000,
                    .learning_rate = 0.1 + 0.2,  // 0.30000000000000004
                    .solver = model::SolverKind::gemm,
                    .seed = std::numeric_limits<std::uint32_t>::max(),
                    .report_every = 1000};
  job.warnings = {"the rate is above the limit", "second warning"};
  job.device = "AMD Radeon Pro VII";
  return job;
}

void check_same(const JobProgress& a, const JobProgress& b) {
  CHECK(a.iteration == b.iteration);
  CHECK(a.loss == b.loss);
  CHECK(a.train_accuracy == b.train_accuracy);
  CHECK(a.test_accuracy == b.test_accuracy);
  CHECK(a.ms_per_iteration == b.ms_per_iteration);
  CHECK(a.eta_s == b.eta_s);
}

void check_same(const JobSpec& a, const JobSpec& b) {
  CHECK(a.dataset == b.dataset);
  CHECK(a.model == b.model);
  CHECK(a.train.iterations == b.train.iterations);
  CHECK(a.train.learning_rate == b.train.learning_rate);
  CHECK(a.train.solver == b.train.solver);
  CHECK(a.train.seed == b.train.seed);
  CHECK(a.train.report_every == b.train.report_every);
}

void check_same(const Job& a, const Job& b) {
  CHECK(a.sequence == b.sequence);
  CHECK(a.id == b.id);
  CHECK(a.state == b.state);
  CHECK(a.name == b.name);
  check_same(a.spec, b.spec);
  check_same(a.progress, b.progress);
  CHECK(a.warnings == b.warnings);
  CHECK(a.created_at == b.created_at);
  CHECK(a.started_at == b.started_at);
  CHECK(a.finished_at == b.finished_at);
  CHECK(a.dataset_digest == b.dataset_digest);
  CHECK(a.cancel_requested_at == b.cancel_requested_at);
  CHECK(a.device == b.device);
  REQUIRE(a.result.has_value() == b.result.has_value());
  if (a.result) {
    CHECK(a.result->model_id == b.result->model_id);
    CHECK(a.result->loss == b.result->loss);
    CHECK(a.result->train_accuracy == b.result->train_accuracy);
    CHECK(a.result->test_accuracy == b.result->test_accuracy);
    CHECK(a.result->train_correct == b.result->train_correct);
    CHECK(a.result->test_correct == b.result->test_correct);
    CHECK(a.result->train_ms == b.result->train_ms);
    CHECK(a.result->ms_per_iteration == b.result->ms_per_iteration);
  }
  REQUIRE(a.error.has_value() == b.error.has_value());
  if (a.error) {
    CHECK(a.error->code == b.error->code);
    CHECK(a.error->message == b.error->message);
  }
}

ModelRecord model_of(const Job& job) {
  ModelRecord record{.id = job.id,
                     .name = job.name,
                     .spec = job.spec,
                     .loss = 0.1 + 0.7,
                     .train_count = 60'000,
                     .train_correct = 50'875,
                     .test = {},
                     .created_at = now(),
                     .weights_digest = "0123456789abcdef"};
  for (int truth = 0; truth < 10; ++truth) {
    for (int predicted = 0; predicted < 10; ++predicted)
      record.test.confusion[truth][predicted] = 100 * truth + predicted;
  }
  return record;
}

// Ends the job as succeeded, with a model.
void succeed(JobStore& store, const std::string& id) {
  Job job = *store.find(id);
  job.state = JobState::succeeded;
  job.finished_at = now();
  job.result = JobResult{.model_id = id};
  store.finish(job, model_of(job));
}

}  // namespace

TEST_CASE("a job comes back as it was stored, through its whole life") {
  Store room;
  Job job = room.store.insert(rich_job(), std::nullopt).job;
  CHECK(job.sequence > 0);
  check_same(*room.store.find(job.id), job);
  CHECK_FALSE(room.store.find("unknown"));

  job.state = JobState::running;
  job.started_at = now();
  job.device = "another device";
  job.dataset_digest = "00ff00ff00ff00ff";
  room.store.set_running(job.id, *job.started_at, job.device, job.dataset_digest);
  check_same(*room.store.find(job.id), job);

  job.progress = {.iteration = 7,
                  .loss = 0.1,
                  .train_accuracy = 1.0 / 3,
                  .test_accuracy = 2.0 / 3,
                  .ms_per_iteration = 1e-3,
                  .eta_s = 1e9};
  room.store.append(job.id, std::vector{row_of(7)}, job.progress);
  check_same(*room.store.find(job.id), job);

  SUBCASE("to success") {
    job.state = JobState::succeeded;
    job.finished_at = now();
    job.progress.eta_s.reset();
    job.result = JobResult{.model_id = job.id,
                           .loss = 0.420517408,
                           .train_accuracy = 50'875 / 6e4,
                           .test_accuracy = 0.855,
                           .train_correct = 50'875,
                           .test_correct = 8'550,
                           .train_ms = 12345.678,
                           .ms_per_iteration = 1.0 / 7};
  }
  SUBCASE("to failure") {
    job.state = JobState::failed;
    job.finished_at = now();
    job.progress.iteration = 8;
    job.error = JobFailure{"diverged", "the loss left the finite numbers"};
  }
  SUBCASE("to cancellation") {
    job.cancel_requested_at = Time(std::chrono::milliseconds(1'700'000'000'123));
    room.store.request_cancel(job.id, *job.cancel_requested_at);
    room.store.request_cancel(job.id, now());  // the first counts
    job.state = JobState::cancelled;
    job.finished_at = now();
  }
  room.store.finish(job, std::nullopt);
  check_same(*room.store.find(job.id), job);
  JobStore again(room.file);  // a second connection, as a later start
  check_same(*again.find(job.id), job);
}

TEST_CASE("doubles come back to the bit, NaN as NaN") {
  Store room;
  const std::string id = insert(room.store);
  const double denormal = 4.9e-324, huge = 1.7976931348623157e308,
               infinity = std::numeric_limits<double>::infinity();
  const std::vector<model::MetricsRow> rows = {
      {.iteration = 1,
       .loss = 1.018783975,
       .train_accuracy = denormal,
       .test_accuracy = huge,
       .elapsed_ms = 0.1},
      {.iteration = 2,
       .loss = infinity,
       .train_accuracy = -0.0,
       .test_accuracy = 1.0 / 3,
       .elapsed_ms = 2e-17},
      {.iteration = 3, .loss = std::nan(""), .train_accuracy = 1, .test_accuracy = 0, .elapsed_ms = 3}};
  room.store.append(id, rows, progress_at(3, std::nan("")));
  const auto back = room.store.rows(id, 0, 10);
  REQUIRE(back.size() == 3);
  for (int i = 0; i < 2; ++i) {
    CHECK(back[i].loss == rows[i].loss);
    CHECK(back[i].train_accuracy == rows[i].train_accuracy);
    CHECK(back[i].test_accuracy == rows[i].test_accuracy);
    CHECK(back[i].elapsed_ms == rows[i].elapsed_ms);
  }
  CHECK(std::isnan(back[2].loss));
  CHECK_FALSE(room.store.find(id)->progress.loss);
}

TEST_CASE("rows are told after an iteration, in order, limited; one told again replaces itself") {
  Store room;
  const std::string id = insert(room.store);
  const std::string other = insert(room.store);
  room.store.append(id, std::vector{row_of(1), row_of(10), row_of(20)}, progress_at(20));
  room.store.append(other, std::vector{row_of(15)}, progress_at(15));
  auto again = row_of(20);
  again.elapsed_ms = 99;
  room.store.append(id, std::vector{again, row_of(30)}, progress_at(30));
  const auto all = room.store.rows(id, 0, 100);
  REQUIRE(all.size() == 4);
  CHECK(all[2].elapsed_ms == 99);
  const auto some = room.store.rows(id, 1, 2);
  REQUIRE(some.size() == 2);
  CHECK(some[0].iteration == 10);
  CHECK(some[1].iteration == 20);
  CHECK(room.store.rows(id, 30, 2).empty());
  CHECK(room.store.rows("unknown", 0, 2).empty());
  CHECK_THROWS_AS(room.store.append("unknown", std::vector{row_of(1)}, {}), NotFound);
}

TEST_CASE("pages of jobs, newest first, by state") {
  Store room;
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(insert(room.store));
  succeed(room.store, ids[2]);
  succeed(room.store, ids[5]);
  std::vector<std::string> seen;
  std::optional<std::int64_t> before;
  int pages = 0;
  do {
    const auto page = room.store.list(std::nullopt, 3, before);
    for (const Job& job : page.items) seen.push_back(job.id);
    before = page.next;
    ++pages;
  } while (before);
  CHECK(pages == 3);
  CHECK(seen == std::vector(ids.rbegin(), ids.rend()));
  CHECK_FALSE(room.store.list(std::nullopt, 7, std::nullopt).next);  // full, and nothing left
  const auto succeeded = room.store.list(JobState::succeeded, 1, std::nullopt);
  REQUIRE(succeeded.items.size() == 1);
  CHECK(succeeded.items[0].id == ids[5]);
  REQUIRE(succeeded.next);
  CHECK(room.store.list(JobState::succeeded, 1, succeeded.next).items[0].id == ids[2]);
  CHECK(room.store.list(JobState::failed, 10, std::nullopt).items.empty());
  CHECK(room.store.queued_ids() == std::vector{ids[0], ids[1], ids[3], ids[4], ids[6]});
}

TEST_CASE("an idempotency key gives the first job again; with another request it is refused") {
  Store room;
  const Idempotency key{"key 1", "{\"iterations\":300}"};
  CHECK_FALSE(room.store.find_repeated(key));
  const auto first = room.store.insert(queued_job(), key);
  CHECK_FALSE(first.repeated);
  const auto second = room.store.insert(queued_job(), key);
  CHECK(second.repeated);
  CHECK(second.job.id == first.job.id);
  CHECK(room.store.find_repeated(key)->id == first.job.id);
  const Idempotency other_request{"key 1", "{\"iterations\":301}"};
  CHECK_THROWS_AS(room.store.insert(queued_job(), other_request), IdempotencyMismatch);
  CHECK(contains(message_of<IdempotencyMismatch>([&] { room.store.find_repeated(other_request); }),
                 first.job.id));
  CHECK_FALSE(room.store.insert(queued_job(), Idempotency{"key 2", key.request}).repeated);
  CHECK(room.store.list(std::nullopt, 10, std::nullopt).items.size() == 2);
  room.store.erase(first.job.id);
  CHECK_FALSE(room.store.insert(queued_job(), key).repeated);
}

TEST_CASE("interrupted jobs are queued again, in order, with their checkpoint and start") {
  Store room;
  const std::string first = insert(room.store), second = insert(room.store), third = insert(room.store);
  const Time start(std::chrono::milliseconds(1'700'000'000'123));
  room.store.set_running(first, start, "d", "0123456789abcdef");
  room.store.append(first, std::vector{row_of(1)}, JobProgress{1, 1.0, {}, {}, {}, 5.0});
  const model::Checkpoint checkpoint{1, 12.5, {0.1F, -0.0F, 1e-45F, 3.4e38F}};
  room.store.save_checkpoint(first, {0, 1, {1.0F}});
  room.store.save_checkpoint(first, checkpoint);
  CHECK(room.store.queued_ids() == std::vector{second, third});
  CHECK(room.store.requeue_running() == std::vector{first});
  CHECK(room.store.requeue_running().empty());
  CHECK(room.store.queued_ids() == std::vector{first, second, third});
  const auto back = room.store.checkpoint(first);
  REQUIRE(back);
  CHECK(back->iteration == 1);
  CHECK(back->train_ms == 12.5);
  CHECK(back->weights == checkpoint.weights);
  CHECK(std::signbit(back->weights[1]));
  CHECK_FALSE(room.store.find(first)->progress.eta_s);
  CHECK(room.store.find(first)->progress.iteration == 1);
  room.store.set_running(first, now(), "e", "fedcba9876543210");
  CHECK(room.store.find(first)->dataset_digest == "0123456789abcdef");
  CHECK(room.store.find(first)->started_at == start);
  CHECK(room.store.find(first)->device == "e");
  room.store.set_queued(first);
  CHECK(room.store.find(first)->state == JobState::queued);
  CHECK_FALSE(room.store.checkpoint(second));
}

TEST_CASE("the end of a job drops its checkpoint and is never before its last row") {
  Store room;
  const std::string id = insert(room.store);
  model::MetricsRow last = row_of(90);
  last.loss = 0.125;
  last.train_accuracy = 0.5;
  last.test_accuracy = 0.25;
  last.elapsed_ms = 180;
  room.store.append(id, std::vector{row_of(1), last}, progress_at(90));
  room.store.save_checkpoint(id, {50, 1, {1.0F}});
  Job job = *room.store.find(id);
  job.state = JobState::cancelled;  // while it was catching up after a crash
  job.progress = progress_at(60, 0.75);
  room.store.finish(job, std::nullopt);
  check_same(room.store.find(id)->progress, {.iteration = 90,
                                             .loss = 0.125,
                                             .train_accuracy = 0.5,
                                             .test_accuracy = 0.25,
                                             .ms_per_iteration = 2.0,
                                             .eta_s = {}});
  CHECK_FALSE(room.store.checkpoint(id));
  CHECK(room.store.rows(id, 0, 10).size() == 2);
}

TEST_CASE("the wish to cancel is kept for jobs that have not ended") {
  Store room;
  const std::string queued = insert(room.store), running = insert(room.store), ended = insert(room.store);
  room.store.set_running(running, now(), "d");
  succeed(room.store, ended);
  for (const std::string& id : {running, ended, queued}) room.store.request_cancel(id, now());
  CHECK(JobStore(room.file).cancel_requested_ids() == std::vector{queued, running});
  CHECK_FALSE(room.store.find(ended)->cancel_requested_at);
  Job job = *room.store.find(queued);
  job.state = JobState::cancelled;
  room.store.finish(job, std::nullopt);
  CHECK(room.store.cancel_requested_ids() == std::vector{running});
}

TEST_CASE("models: record, order, name of the job, choice, removal") {
  Store room;
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(room.store.insert(rich_job(), std::nullopt).job.id);
    succeed(room.store, ids.back());
  }
  const ModelRecord expected = model_of(*room.store.find(ids[0]));
  const ModelRecord record = *room.store.find_model(ids[0]);
  CHECK(record.id == ids[0]);
  CHECK(record.name == expected.name);
  check_same(record.spec, expected.spec);
  CHECK(record.loss == expected.loss);
  CHECK(record.train_count == expected.train_count);
  CHECK(record.train_correct == expected.train_correct);
  CHECK(record.test.confusion == expected.test.confusion);
  CHECK(record.weights_digest == "0123456789abcdef");
  CHECK(record.created_at >= room.store.find(ids[0])->created_at);

  CHECK(room.store.model_ids() == std::vector{ids[2], ids[1], ids[0]});
  const auto page = room.store.list_models(2, std::nullopt);
  REQUIRE(page.items.size() == 2);
  CHECK(page.items[0].id == ids[2]);
  REQUIRE(page.next);
  const auto rest = room.store.list_models(2, page.next);
  REQUIRE(rest.items.size() == 1);
  CHECK(rest.items[0].id == ids[0]);
  CHECK_FALSE(rest.next);

  room.store.rename(ids[0], "new name");
  CHECK(room.store.find_model(ids[0])->name == "new name");
  room.store.rename(ids[0], std::nullopt);
  CHECK_FALSE(room.store.find(ids[0])->name);
  CHECK_THROWS_AS(room.store.rename("unknown", "x"), NotFound);

  CHECK_FALSE(room.store.chosen_model());
  room.store.choose_model(ids[1]);
  CHECK(room.store.chosen_model() == ids[1]);
  room.store.erase_model(ids[1]);
  CHECK_FALSE(room.store.chosen_model());
  CHECK_FALSE(room.store.find_model(ids[1]));
  CHECK(room.store.find(ids[1])->result->model_id == ids[1]);  // what came of the job stays true
  CHECK_THROWS_AS(room.store.erase_model(ids[1]), NotFound);
  room.store.choose_model(ids[0]);
  room.store.choose_model(std::nullopt);
  CHECK_FALSE(room.store.chosen_model());
}

TEST_CASE("an erased job takes rows, checkpoint and model with it") {
  Store room;
  const std::string id = insert(room.store), other = insert(room.store);
  for (const std::string& job : {id, other}) {
    room.store.append(job, std::vector{row_of(1)}, progress_at(1));
    succeed(room.store, job);
    room.store.save_checkpoint(job, {1, 1, {1.0F}});
  }
  room.store.choose_model(id);
  room.store.erase(id);
  CHECK_FALSE(room.store.find(id));
  CHECK_FALSE(room.store.find_model(id));
  CHECK_FALSE(room.store.chosen_model());
  CHECK(room.store.rows(id, 0, 10).empty());
  CHECK_FALSE(room.store.checkpoint(id));
  CHECK_THROWS_AS(room.store.erase(id), NotFound);
  CHECK(room.store.find_model(other));
  CHECK(room.store.rows(other, 0, 10).size() == 1);
}

TEST_CASE("threads exclude one another") {
  Store room;
  const std::string id = insert(room.store);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i) {
        const int iteration = thread * 1000 + i + 1;
        room.store.append(id, std::vector{row_of(iteration)}, progress_at(iteration));
        insert(room.store);
        room.store.list(std::nullopt, 5, std::nullopt);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(room.store.rows(id, 0, 1000).size() == 100);
  CHECK(room.store.list(std::nullopt, 1000, std::nullopt).items.size() == 101);
}
