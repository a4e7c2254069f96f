// What is there after the daemon has gone and come back.
#include <csignal>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/daemon.h"
#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;

namespace {

using P = EventPosition;

std::string submit(Daemon& daemon, const JobSpec& spec) {
  return daemon.submit({.spec = spec, .name = {}, .idempotency = {}}).job.id;
}

void check_same_outcome(Daemon& daemon, const std::string& id, Daemon& other, const std::string& other_id) {
  const Job a = daemon.job(id), b = other.job(other_id);
  REQUIRE(a.state == JobState::succeeded);
  REQUIRE(b.state == JobState::succeeded);
  CHECK(a.result->loss == b.result->loss);
  CHECK(a.result->train_correct == b.result->train_correct);
  CHECK(a.result->test_correct == b.result->test_correct);
  CHECK(daemon.models().find(id)->linear.weights() == other.models().find(other_id)->linear.weights());
  const auto rows = daemon.metrics(id, 0, 1'000'000), other_rows = other.metrics(other_id, 0, 1'000'000);
  REQUIRE(rows.size() == other_rows.size());
  bool same = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    same = same && rows[i].iteration == other_rows[i].iteration && rows[i].loss == other_rows[i].loss &&
           rows[i].train_accuracy == other_rows[i].train_accuracy &&
           rows[i].test_accuracy == other_rows[i].test_accuracy;
  }
  CHECK(same);
}

}  // namespace

TEST_CASE("a restart keeps jobs, metrics and models") {
  TemporaryDirectory directory;
  std::string id;
  std::vector<float> weights;
  {
    Daemon daemon(daemon_options(directory));
    id = submit(daemon, spec_of(20));
    wait_for_end(daemon, id);
    weights = daemon.models().find(id)->linear.weights();
  }
  Daemon daemon(daemon_options(directory));
  const Job job = daemon.job(id);
  CHECK(job.state == JobState::succeeded);
  CHECK(job.result->model_id == id);
  CHECK(daemon.metrics(id, 0, 100).size() == 20);
  REQUIRE(daemon.models().active());
  CHECK(daemon.models().active()->record.id == id);
  CHECK(daemon.models().active()->linear.weights() == weights);
  const auto events = follow(daemon, id, 10);
  CHECK(events.size() == 2 + 20 + 2);
}

TEST_CASE("a second daemon on the same data dir is refused") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  CHECK(contains(message_of<StartError>([&] { Daemon second(daemon_options(directory)); }),
                 "is in use by process"));
}

TEST_CASE("a job drained in its middle goes on and ends with the same weights, bit for bit") {
  constexpr int kIterations = 8'000;
  const JobSpec spec = spec_of(kIterations, 0.0005, 3);
  TemporaryDirectory undisturbed_directory, directory;
  Daemon undisturbed(daemon_options(undisturbed_directory));
  const std::string expected = submit(undisturbed, spec);
  wait_for_end(undisturbed, expected);

  std::string id, waiting;
  std::optional<Time> started_at;
  std::vector<JobEvent> events;
  for (const int stop_at : {1'000, 3'000}) {
    Daemon daemon(daemon_options(directory));
    if (id.empty()) {
      id = submit(daemon, spec);
      waiting = submit(daemon, spec_of(3));
    }
    REQUIRE(eventually([&] { return daemon.job(id).progress.iteration >= stop_at; }));
    if (!started_at) started_at = daemon.job(id).started_at;
    const P after = events.empty() ? P{} : events.back().position;
    for (const auto& event : daemon.events(id, after, 1000)) events.push_back(event);
    daemon.drain();
    const Job job = daemon.job(id);
    CHECK(job.state == JobState::queued);
    CHECK(job.progress.iteration >= stop_at);
    CHECK(job.progress.iteration < kIterations);
    CHECK_FALSE(job.progress.eta_s);
    CHECK(job.started_at == started_at);
  }
  Daemon daemon(daemon_options(directory));
  for (const auto& event : follow(daemon, id, 100, events.back().position)) events.push_back(event);
  wait_for_end(daemon, waiting);
  CHECK(daemon.job(waiting).state == JobState::succeeded);
  CHECK(daemon.job(id).started_at == started_at);
  check_same_outcome(daemon, id, undisturbed, expected);
  // The follower of three lives saw one stream.
  const auto whole = follow(daemon, id, 1000);
  REQUIRE(events.size() == whole.size());
  bool same = true;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    same = same && events[i].position == whole[i].position && events[i].row.loss == whole[i].row.loss;
  }
  CHECK(same);
}

TEST_CASE("a gram job drained in its middle ends with the same weights too, by a Gram that was kept") {
  JobSpec spec = spec_of(500, 0.0005, 3);
  spec.train.solver = model::SolverKind::gram;
  TemporaryDirectory undisturbed_directory, directory;
  Daemon undisturbed(daemon_options(undisturbed_directory));
  const std::string expected = submit(undisturbed, spec);
  wait_for_end(undisturbed, expected);
  const DaemonOptions options = daemon_options(directory);
  std::string id;
  {
    Daemon daemon(options);
    id = submit(daemon, spec);
    REQUIRE(eventually([&] { return daemon.job(id).progress.iteration >= 100; }));
    const auto file = options.data_dir / "cache" / (daemon.dataset("mnist")->digest + ".gram");
    REQUIRE(eventually([&] { return std::filesystem::exists(file); }));
    daemon.drain();
    CHECK(daemon.job(id).progress.iteration < 500);
  }
  Daemon daemon(options);
  wait_for_end(daemon, id);
  check_same_outcome(daemon, id, undisturbed, expected);
}

TEST_CASE(
    "a job whose daemon was killed goes on from its checkpoint; rows after it are told again and are equal") {
  constexpr int kIterations = 400;
  const JobSpec spec = spec_of(kIterations, 0.0005);
  TemporaryDirectory undisturbed_directory, directory;
  Daemon undisturbed(daemon_options(undisturbed_directory));
  const std::string expected = submit(undisturbed, spec);
  wait_for_end(undisturbed, expected);

  // What a kill leaves: a running job with a checkpoint of iteration 100 and rows up to 150, made by real training.
  std::string id;
  model::Checkpoint checkpoint;
  {
    DaemonOptions options = daemon_options(directory);
    Daemon first(options);
    const std::string probe = submit(first, spec_of(100, 0.0005));
    wait_for_end(first, probe);
    checkpoint = {100, 12.0, first.models().find(probe)->linear.weights()};
    first.drain();
    JobStore store(options.data_dir / "mnistd.sqlite3");
    const Job job = store.insert(queued_job(spec), std::nullopt).job;
    id = job.id;
    store.set_running(id, now(), "device");
    auto rows = undisturbed.metrics(expected, 0, 150);
    for (auto& row : rows) row.elapsed_ms = -1;
    store.append(id, rows, progress_at(150, rows.back().loss));
    store.save_checkpoint(id, checkpoint);
  }
  Daemon daemon(daemon_options(directory));
  const auto from_120 = follow(daemon, id, 7, {120, P::progress});  // a client that had seen 120 rows
  CHECK(from_120.front().position == P{121, P::progress});
  CHECK(static_cast<int>(from_120.size()) == kIterations - 120 + 2);
  check_same_outcome(daemon, id, undisturbed, expected);
  const auto rows = daemon.metrics(id, 0, 1000);
  CHECK(rows[99].elapsed_ms == -1);  // up to the checkpoint as they were
  CHECK(rows[100].elapsed_ms > 12);  // then told again, the time going on from the checkpoint's
  CHECK(rows[149].elapsed_ms > rows[100].elapsed_ms);
}

TEST_CASE("kill -9 in the middle of a job") {
  const JobSpec spec = spec_of(15'000, 0.0005, 5);
  TemporaryDirectory undisturbed_directory, directory;
  DaemonOptions options = daemon_options(directory);
  int answer[2];
  REQUIRE(pipe(answer) == 0);
  const pid_t child = fork();  // before this process has threads
  if (child == 0) {
    Daemon daemon(options);
    const std::string id = submit(daemon, spec);
    JobStore store(options.data_dir /
                   "mnistd.sqlite3");  // the daemon would tell rows that are not stored yet
    eventually([&] { return store.rows(id, 1'000, 1).size() == 1; });
    (void)!write(answer[1], id.data(), id.size());
    pause();
    _exit(0);
  }
  char text[21] = {};
  REQUIRE(read(answer[0], text, 20) == 20);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(answer[0]);
  close(answer[1]);
  const std::string id = text;
  {
    JobStore store(options.data_dir / "mnistd.sqlite3");
    CHECK(store.find(id)->state == JobState::running);
    CHECK_FALSE(store.rows(id, 1'000, 1).empty());
  }
  Daemon daemon(options);
  CHECK_FALSE(has_ended(daemon.job(id).state));
  const auto events = follow(daemon, id, 100);
  CHECK(events.size() == 2 + 3'001 + 2);
  Daemon undisturbed(daemon_options(undisturbed_directory));
  const std::string expected = submit(undisturbed, spec);
  wait_for_end(undisturbed, expected);
  check_same_outcome(daemon, id, undisturbed, expected);
}

TEST_CASE("a job that began with other data fails after a restart, and keeps its rows") {
  TemporaryDirectory directory;
  const DaemonOptions options = daemon_options(directory);
  std::string id, waiting, old_digest;
  {
    Daemon daemon(options);
    old_digest = daemon.dataset("mnist")->digest;
    id = submit(daemon, spec_of(1'000'000, 0.0001));
    waiting = submit(daemon, spec_of(3));
    REQUIRE(eventually([&] { return daemon.job(id).progress.iteration >= 50; }));
    CHECK(daemon.job(id).dataset_digest == old_digest);
    CHECK_FALSE(daemon.job(waiting).dataset_digest);
    daemon.drain();
    CHECK(JobStore(options.data_dir / "mnistd.sqlite3").checkpoint(id));
  }
  SUBCASE("other images") { write_dataset(directory.path() / "mnist", 60, 40, 2); }
  SUBCASE("one other label to test with") {
    const auto file = directory.path() / "mnist" / "t10k-labels-idx1-ubyte";
    std::string bytes = read_file(file);
    bytes.back() = static_cast<char>((bytes.back() + 1) % 10);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  Daemon daemon(options);
  const std::string digest = daemon.dataset("mnist")->digest;
  CHECK(digest != old_digest);
  const Job job = wait_for_end(daemon, id);
  CHECK(job.state == JobState::failed);
  REQUIRE(job.error);
  CHECK(job.error->code == "dataset-changed");
  CHECK(job.error->message ==
        "the dataset mnist is not the one that this job began with (digest " + digest + ", it was " +
            old_digest + "), so its training cannot go on; submit it again to train on the present data");
  const auto rows = daemon.metrics(id, 0, 1'000'000);
  CHECK(rows.size() >= 50);
  CHECK(job.progress.iteration == rows.back().iteration);
  CHECK(job.progress.loss == rows.back().loss);
  CHECK(follow(daemon, id, 1000).size() == rows.size() + 4);
  CHECK_FALSE(JobStore(options.data_dir / "mnistd.sqlite3").checkpoint(id));
  // One that had not begun takes the data that are there.
  CHECK(wait_for_end(daemon, waiting).state == JobState::succeeded);
  CHECK(daemon.job(waiting).dataset_digest == digest);
  CHECK(daemon.models().find(waiting)->record.dataset_digest == digest);
  CHECK(contains(read_file(options.data_dir / "models" / (waiting + ".safetensors")),
                 "\"dataset_digest\":\"" + digest + "\""));
}

TEST_CASE("a cancel that was answered holds after kill -9, whatever the worker had done by then") {
  TemporaryDirectory directory;
  const DaemonOptions options = daemon_options(directory);
  std::string running, queued, untouched;
  {
    // What a kill leaves right after cancel() stored the wish: jobs as they were, and the wish.
    JobStore store(
        (std::filesystem::create_directories(options.data_dir), options.data_dir / "mnistd.sqlite3"));
    running = store.insert(queued_job(spec_of(1'000'000, 0.0001)), std::nullopt).job.id;
    queued = store.insert(queued_job(spec_of(5)), std::nullopt).job.id;
    untouched = store.insert(queued_job(spec_of(5)), std::nullopt).job.id;
    store.set_running(running, now(), "device");
    store.append(running, std::vector{row_of(1), row_of(2)}, progress_at(2, 0.5));
    store.save_checkpoint(running, {2, 1.0, std::vector<float>(gpu::kWeights)});
    store.request_cancel(running, now());
    store.request_cancel(queued, now());
  }
  Daemon daemon(options);
  for (const std::string& id : {running, queued}) {
    const Job job = daemon.job(id);  // at once
    CHECK(job.state == JobState::cancelled);
    CHECK(job.finished_at);
  }
  CHECK(daemon.metrics(running, 0, 10).size() == 2);
  CHECK(daemon.job(running).progress.loss == 0.5);
  CHECK(follow(daemon, running, 10).size() == 2 + 2 + 2);
  CHECK_FALSE(daemon.job(queued).started_at);
  CHECK(wait_for_end(daemon, untouched).state == JobState::succeeded);
}

TEST_CASE("when cancel returns the wish is in the store") {
  TemporaryDirectory directory;
  const DaemonOptions options = daemon_options(directory);
  int answer[2];
  REQUIRE(pipe(answer) == 0);
  const pid_t child = fork();  // before this process has threads
  if (child == 0) {
    Daemon daemon(options);
    const std::string id = submit(daemon, spec_of(1'000'000, 0.0001));
    eventually([&] { return daemon.job(id).progress.iteration > 0; });
    daemon.cancel(id);
    (void)!write(answer[1], id.data(), id.size());
    kill(getpid(), SIGKILL);
  }
  char text[21] = {};
  REQUIRE(read(answer[0], text, 20) == 20);
  waitpid(child, nullptr, 0);
  close(answer[0]);
  close(answer[1]);
  CHECK(JobStore(options.data_dir / "mnistd.sqlite3").find(text)->cancel_requested_at);
  Daemon daemon(options);
  CHECK(daemon.job(text).state == JobState::cancelled);
}

TEST_CASE("a first start trains, a later one has no need to") {
  TemporaryDirectory directory;
  DaemonOptions options = daemon_options(directory);
  write_dataset(directory.path() / "tiny", 20, 10);
  options.datasets = {{"tiny", directory.path() / "tiny"}};
  options.first_training = true;
  std::string id;
  {
    Daemon daemon(options);
    const auto jobs = daemon.jobs(std::nullopt, 10, std::nullopt).items;
    REQUIRE(jobs.size() == 1);
    id = jobs[0].id;
    CHECK(jobs[0].name == "first training");
    CHECK(jobs[0].spec.dataset == "tiny");
    CHECK(jobs[0].spec.train.iterations == 300);
    CHECK(jobs[0].spec.train.learning_rate == 0.01);
    CHECK(jobs[0].spec.train.report_every == 1);
    daemon.drain();
  }
  {
    Daemon daemon(options);  // it had no time to finish, or it had: in both cases there is one
    wait_for_end(daemon, id);
    CHECK(daemon.jobs(std::nullopt, 10, std::nullopt).items.size() == 1);
  }
  Daemon daemon(options);
  CHECK(daemon.jobs(std::nullopt, 10, std::nullopt).items.size() == 1);
}

TEST_CASE("restored jobs run in the order in which they were queued, also beyond a smaller limit") {
  TemporaryDirectory directory;
  DaemonOptions options = daemon_options(directory);
  std::vector<std::string> ids;
  {
    Daemon daemon(options);
    ids.push_back(submit(daemon, spec_of(1'000'000, 0.0001)));
    for (int i = 0; i < 4; ++i) ids.push_back(submit(daemon, spec_of(3)));
    daemon.cancel(ids[2]);
    REQUIRE(eventually([&] { return daemon.job(ids[0]).progress.iteration > 0; }));
  }
  options.queue_limit = 1;
  Daemon daemon(options);
  CHECK_THROWS_AS(submit(daemon, spec_of(1)), Unavailable);
  daemon.cancel(ids[0]);
  for (const std::string& id : ids) wait_for_end(daemon, id);
  CHECK(daemon.job(ids[0]).state == JobState::cancelled);
  CHECK(daemon.job(ids[2]).state == JobState::cancelled);
  CHECK(daemon.job(ids[1]).finished_at <= daemon.job(ids[3]).finished_at);
  CHECK(daemon.job(ids[3]).finished_at <= daemon.job(ids[4]).finished_at);
  CHECK(daemon.models().active()->record.id == ids[4]);
}
