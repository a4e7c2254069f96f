#include "server/daemon.h"

#include <thread>

#include <doctest/doctest.h>

#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;
using namespace std::chrono_literals;

namespace {

const JobSpec kEndless = spec_of(1'000'000, 0.0001);

std::string submit(Daemon& daemon, const JobSpec& spec) {
  return daemon.submit({.spec = spec, .name = {}, .idempotency = {}}).job.id;
}

std::string start_endless(Daemon& daemon) {
  const std::string id = submit(daemon, kEndless);
  REQUIRE(eventually([&] { return daemon.job(id).progress.iteration > 0; }));
  return id;
}

}  // namespace

TEST_CASE("a submitted job is stored, runs, and gives a model that is served") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  CHECK(daemon.not_ready().empty());
  CHECK(daemon.models().active() == nullptr);
  Daemon::Submission submission{.spec = spec_of(50), .name = "mine", .idempotency = {}};
  const Job submitted = daemon.submit(submission).job;
  CHECK(submitted.state == JobState::queued);
  CHECK(submitted.device == daemon.status().device.name);

  const Job job = wait_for_end(daemon, submitted.id);
  CHECK(job.state == JobState::succeeded);
  CHECK(job.name == "mine");
  CHECK(job.started_at >= submitted.created_at);
  CHECK(job.finished_at >= job.started_at);
  CHECK(job.progress.iteration == 50);
  CHECK_FALSE(job.progress.eta_s);
  REQUIRE(job.result);
  CHECK(job.result->model_id == job.id);
  CHECK(job.result->train_accuracy == job.result->train_correct / 60.0);
  CHECK(job.result->test_accuracy == job.result->test_correct / 40.0);
  CHECK(job.result->ms_per_iteration == doctest::Approx(job.result->train_ms / 50));

  const auto rows = daemon.metrics(job.id, 0, 1000);
  REQUIRE(rows.size() == 50);
  CHECK(rows.front().loss > rows.back().loss);
  CHECK(rows.back().loss > job.result->loss);
  CHECK(job.progress.loss == rows.back().loss);
  CHECK(*job.progress.ms_per_iteration == doctest::Approx(rows.back().elapsed_ms / 50));
  CHECK(daemon.metrics(job.id, 48, 1000).size() == 2);
  CHECK(daemon.metrics(job.id, 0, 7).size() == 7);

  REQUIRE(daemon.models().active());  // at once
  const ModelSnapshot served = daemon.models().active();
  CHECK(served->record.id == job.id);
  CHECK(served->record.test.total() == 40);
  CHECK(served->record.train_count == 60);
  // Counted again here, from the images and the served weights in double precision.
  const model::Split& test = daemon.dataset("mnist")->test;
  int correct = 0;
  std::array<std::array<int, 10>, 10> confusion{};
  for (int i = 0; i < test.count(); ++i) {
    int best = 0;
    double best_score = -1e300;
    for (int digit = 0; digit < 10; ++digit) {
      const float* weights = served->linear.weights().data() + digit * 785;
      double score = weights[784];
      for (int pixel = 0; pixel < 784; ++pixel) score += weights[pixel] * (test.image(i)[pixel] / 255.0);
      if (score > best_score) {
        best_score = score;
        best = digit;
      }
    }
    ++confusion[test.labels[i]][best];
    correct += best == test.labels[i] ? 1 : 0;
  }
  CHECK(served->record.test.confusion == confusion);
  CHECK(job.result->test_correct == correct);

  CHECK(daemon.rename(job.id, "renamed").name == "renamed");
  CHECK(daemon.models().active()->record.name == "renamed");
}

TEST_CASE("unknown names are not found") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  CHECK_THROWS_AS(daemon.job("x"), NotFound);
  CHECK_THROWS_AS(daemon.rename("x", "y"), NotFound);
  CHECK_THROWS_AS(daemon.cancel("x"), NotFound);
  CHECK_THROWS_AS(daemon.purge("x"), NotFound);
  CHECK_THROWS_AS(daemon.metrics("x", 0, 1), NotFound);
  CHECK_THROWS_AS(daemon.events("x", {}, 1), NotFound);
  CHECK(contains(message_of<NotFound>([&] { (void)daemon.dataset("x"); }), "this daemon has mnist"));
}

TEST_CASE("a running job is cancelled within an iteration and keeps its metrics") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string id = start_endless(daemon);
  const Job running = daemon.job(id);
  CHECK(running.state == JobState::running);
  CHECK(running.progress.eta_s > 0);
  CHECK(daemon.status().running_job == id);
  CHECK(daemon.jobs(std::nullopt, 10, std::nullopt).items[0].progress.iteration >=
        running.progress.iteration);
  const auto begin = std::chrono::steady_clock::now();
  daemon.cancel(id);
  const Job ended = wait_for_end(daemon, id);
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
  CHECK(ended.state == JobState::cancelled);
  CHECK(ended.finished_at);
  CHECK_FALSE(ended.result);
  const auto rows = daemon.metrics(id, 0, 1'000'000);
  CHECK(static_cast<int>(rows.size()) == ended.progress.iteration);
  CHECK(rows.back().iteration == ended.progress.iteration);
  const Job again = daemon.cancel(id);  // harmless
  CHECK(again.state == JobState::cancelled);
  CHECK(again.finished_at == ended.finished_at);
  CHECK(daemon.models().active() == nullptr);
}

TEST_CASE("a queued job is cancelled at once and never runs") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string running = start_endless(daemon);
  const std::string queued = submit(daemon, spec_of(5)), last = submit(daemon, spec_of(5));
  CHECK(daemon.status().queued == 2);
  const std::uint64_t bell = daemon.log().version();
  CHECK(daemon.cancel(queued).state == JobState::cancelled);
  CHECK(daemon.log().version() != bell);
  CHECK(daemon.status().queued == 1);
  daemon.cancel(running);
  CHECK(wait_for_end(daemon, last).state == JobState::succeeded);
  const Job cancelled = daemon.job(queued);
  CHECK(cancelled.state == JobState::cancelled);
  CHECK_FALSE(cancelled.started_at);
  CHECK(daemon.metrics(queued, 0, 10).empty());
}

TEST_CASE("a cancel that meets the job on its way to the worker is not lost") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  for (int i = 0; i < 100; ++i) {
    const std::string id = submit(daemon, kEndless);
    if (i % 2 == 1) std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
    daemon.cancel(id);
    CHECK(wait_for_end(daemon, id).state == JobState::cancelled);
  }
}

TEST_CASE("a job that diverges fails at its iteration, and its rows end before") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const Job job = wait_for_end(daemon, submit(daemon, spec_of(100'000, 10)));
  CHECK(job.state == JobState::failed);
  REQUIRE(job.error);
  CHECK(job.error->code == "diverged");
  const auto rows = daemon.metrics(job.id, 0, 100'000);
  REQUIRE_FALSE(rows.empty());
  CHECK(job.progress.iteration == rows.back().iteration + 1);
  CHECK_FALSE(job.progress.loss);  // nothing of an iteration that was reported before
  CHECK_FALSE(job.progress.train_accuracy);
  CHECK_FALSE(job.progress.test_accuracy);
  CHECK_FALSE(job.progress.ms_per_iteration);
  CHECK_FALSE(job.progress.eta_s);
  CHECK(contains(job.error->message, "iteration " + std::to_string(job.progress.iteration)));
  CHECK(contains(job.error->message, "learning rate"));
  CHECK_FALSE(job.result);
  const auto events = daemon.events(job.id, {rows.back().iteration, EventPosition::progress}, 10);
  REQUIRE(events.size() == 2);
  CHECK(events[0].position == EventPosition{job.progress.iteration, EventPosition::final_state});
  CHECK(wait_for_end(daemon, submit(daemon, spec_of(5))).state == JobState::succeeded);
}

TEST_CASE("a full queue turns jobs away, but not a request that is repeated") {
  TemporaryDirectory directory;
  DaemonOptions options = daemon_options(directory);
  options.queue_limit = 2;
  Daemon daemon(options);
  const std::string running = start_endless(daemon);
  submit(daemon, spec_of(1));
  const Daemon::Submission keyed{.spec = spec_of(1), .name = {}, .idempotency = Idempotency{"k", "{}"}};
  const auto first = daemon.submit(keyed);
  CHECK_FALSE(first.repeated);
  CHECK(contains(message_of<Unavailable>([&] { submit(daemon, spec_of(1)); }), "the queue is full (2 jobs)"));
  const auto again = daemon.submit(keyed);
  CHECK(again.repeated);
  CHECK(again.job.id == first.job.id);
  CHECK(daemon.status().queued == 2);
  CHECK_THROWS_AS(daemon.submit({.spec = spec_of(2), .name = {}, .idempotency = Idempotency{"k", "{2}"}}),
                  IdempotencyMismatch);
  daemon.cancel(running);
  wait_for_end(daemon, first.job.id);
  CHECK(daemon.submit(keyed).job.state == JobState::succeeded);
  CHECK_NOTHROW(submit(daemon, spec_of(1)));
}

TEST_CASE("an ended job is purged with its rows and its model, one that has not ended is not") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string first = submit(daemon, spec_of(5)), second = submit(daemon, spec_of(6));
  wait_for_end(daemon, second);
  REQUIRE(daemon.models().active()->record.id == second);
  const auto file = daemon.status().data_dir / "models" / (second + ".safetensors");
  CHECK(std::filesystem::exists(file));
  daemon.purge(second);
  CHECK_THROWS_AS(daemon.job(second), NotFound);
  CHECK_THROWS_AS(daemon.models().find(second), NotFound);
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(daemon.models().active()->record.id == first);

  const std::string running = start_endless(daemon);
  try {
    daemon.purge(running);
    FAIL("a running job was purged");
  } catch (const WrongState& error) {
    CHECK(error.code() == "not-ended");
  }
  daemon.cancel(running);
  wait_for_end(daemon, running);
  daemon.purge(running);
  CHECK(daemon.jobs(std::nullopt, 10, std::nullopt).items.size() == 1);
}

TEST_CASE("a full disk makes the daemon unready, says why, and is got over") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string id = start_endless(daemon);
  FullDisk full;
  CHECK_THROWS_AS(submit(daemon, spec_of(1)), StoreError);
  CHECK(daemon.status().queued == 0);  // the place was given back
  REQUIRE_FALSE(daemon.not_ready().empty());
  CHECK(contains(daemon.not_ready().front(), "mnistd.sqlite3"));
  CHECK(contains(message_of<StoreError>([&] { daemon.cancel(id); }), "mnistd.sqlite3"));  // not promised
  CHECK(daemon.job(id).state == JobState::running);
  full.heal();
  CHECK(daemon.status().running_job == id);  // and not done either
  CHECK_FALSE(daemon.job(id).cancel_requested_at);
  REQUIRE(eventually([&] { return daemon.not_ready().empty(); }));
  daemon.cancel(id);
  const Job ended = wait_for_end(daemon, id);
  CHECK(static_cast<int>(daemon.metrics(id, 0, 1'000'000).size()) == ended.progress.iteration);
}

TEST_CASE("a data dir that is removed under the daemon makes it unready, and it takes no jobs") {
  TemporaryDirectory directory;
  const DaemonOptions options = daemon_options(directory);
  Daemon daemon(options);
  const std::string queued = submit(daemon, spec_of(5));
  wait_for_end(daemon, queued);
  CHECK(daemon.not_ready().empty());  // fresh: what follows is seen all the same
  SUBCASE("all of it") { std::filesystem::remove_all(options.data_dir); }
  SUBCASE("the database") { std::filesystem::remove(options.data_dir / "mnistd.sqlite3"); }
  const auto reasons = daemon.not_ready();
  REQUIRE(reasons.size() == 1);
  CHECK(contains(reasons[0], "mnistd.sqlite3: was removed while the daemon runs"));
  CHECK(contains(message_of<StoreError>([&] { submit(daemon, spec_of(1)); }), "was removed"));
  CHECK(daemon.status().queued == 0);
  CHECK(daemon.models().active()->record.id == queued);  // predictions go on
}

TEST_CASE("a draining daemon takes no jobs and says so") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string id = start_endless(daemon);
  const std::string queued = submit(daemon, spec_of(5));
  const auto begin = std::chrono::steady_clock::now();
  daemon.drain();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  daemon.drain();
  CHECK(daemon.log().is_closed());
  CHECK(daemon.status().draining);
  CHECK(daemon.not_ready() == std::vector<std::string>{"draining"});
  CHECK_THROWS_AS(submit(daemon, spec_of(1)), Unavailable);
  CHECK(daemon.job(id).state == JobState::queued);
  CHECK(daemon.job(id).progress.iteration > 0);
  CHECK(daemon.cancel(id).state == JobState::cancelled);  // both places are reached also now
  CHECK(daemon.cancel(queued).state == JobState::cancelled);
}

TEST_CASE("an automatic rate is half the stability limit, and waits until that is known") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  CHECK(daemon.find_spectrum("mnist") == nullptr);
  const Job job =
      daemon.submit({.spec = spec_of(30), .name = {}, .idempotency = {}, .automatic_rate = true}).job;
  const auto spectrum = daemon.find_spectrum("mnist");
  REQUIRE(spectrum);
  CHECK(job.spec.train.learning_rate == 0.5 * spectrum->stability_limit());
  CHECK(job.warnings.empty());
  CHECK(wait_for_end(daemon, job.id).state == JobState::succeeded);
  CHECK_THROWS_AS(daemon.find_spectrum("x"), NotFound);
  CHECK_THROWS_AS(daemon.wait_for_spectrum("x"), NotFound);
}

TEST_CASE("a job above the limit is warned of it, and fails by name") {
  TemporaryDirectory directory;
  DaemonOptions options = daemon_options(directory);
  options.eager_spectra = true;
  Daemon daemon(options);
  const double limit = daemon.wait_for_spectrum("mnist")->stability_limit();
  for (const auto solver : {model::SolverKind::gemm, model::SolverKind::gram}) {
    JobSpec spec = spec_of(100'000, 3 * limit);
    spec.train.solver = solver;
    const Job submitted = daemon.submit({.spec = spec, .name = {}, .idempotency = {}}).job;
    REQUIRE(submitted.warnings.size() == 1);
    CHECK(contains(submitted.warnings[0], "above the stability limit of mnist, " + format_limit(limit)));
    const Job job = wait_for_end(daemon, submitted.id);
    CHECK(job.state == JobState::failed);
    CHECK(job.warnings == submitted.warnings);
    REQUIRE(job.error);
    CHECK(job.error->code == "diverged");
    CHECK(job.progress.iteration > 1);
    CHECK(contains(job.error->message, "at iteration " + std::to_string(job.progress.iteration)));
    CHECK(contains(job.error->message, "below " + format_limit(limit) + ", the stability limit of mnist"));
  }
  CHECK(
      daemon.submit({.spec = spec_of(5, limit * 0.99), .name = {}, .idempotency = {}}).job.warnings.empty());
}

TEST_CASE("a gram job trains as a gemm job does, and its Gram is kept for others") {
  TemporaryDirectory directory;
  const DaemonOptions options = daemon_options(directory);
  Daemon daemon(options);
  JobSpec spec = spec_of(80, 0.002, 7);
  const Job gemm = wait_for_end(daemon, submit(daemon, spec));
  spec.train.solver = model::SolverKind::gram;
  const Job gram = wait_for_end(daemon, submit(daemon, spec));
  REQUIRE(gemm.result);
  REQUIRE(gram.result);
  CHECK(gram.spec.train.solver == model::SolverKind::gram);
  CHECK(gram.result->loss == doctest::Approx(gemm.result->loss).epsilon(1e-5));
  CHECK(gram.result->train_correct == gemm.result->train_correct);
  CHECK(gram.result->test_correct == gemm.result->test_correct);
  const auto expected = daemon.metrics(gemm.id, 0, 100), rows = daemon.metrics(gram.id, 0, 100);
  REQUIRE(rows.size() == expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].iteration == expected[i].iteration);
    CHECK(rows[i].loss == doctest::Approx(expected[i].loss).epsilon(1e-5));
    CHECK(rows[i].train_accuracy == expected[i].train_accuracy);
    CHECK(rows[i].test_accuracy == expected[i].test_accuracy);
  }
  const std::string digest = daemon.dataset("mnist")->digest;
  REQUIRE(
      eventually([&] { return std::filesystem::exists(options.data_dir / "cache" / (digest + ".gram")); }));
}
