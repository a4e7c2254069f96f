// A job's stream of events: complete, in order, once, whoever reads it and when.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "server/daemon.h"
#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;
using namespace std::chrono_literals;

namespace {

using P = EventPosition;

std::string submit(Daemon& daemon, const JobSpec& spec) {
  return daemon.submit({.spec = spec, .name = {}, .idempotency = {}}).job.id;
}

// Whether the events are those that the job and its rows make.
bool is_stream_of(const std::vector<JobEvent>& events, Daemon& daemon, const std::string& id) {
  const Job job = daemon.job(id);
  const auto rows = daemon.metrics(id, 0, 1'000'000);
  std::vector<P> expected = {{0, P::queued}};
  if (job.started_at) expected.push_back({0, P::running});
  for (const auto& row : rows) expected.push_back({row.iteration, P::progress});
  expected.push_back({job.progress.iteration, P::final_state});
  expected.push_back({job.progress.iteration, P::end});
  if (events.size() != expected.size()) return false;
  std::size_t next_row = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].position != expected[i]) return false;
    if (events[i].position.rank == P::progress) {
      const auto& row = rows[next_row++];
      const auto& told = events[i].row;
      if (told.iteration != row.iteration || told.loss != row.loss || told.elapsed_ms != row.elapsed_ms ||
          told.train_accuracy != row.train_accuracy || told.test_accuracy != row.test_accuracy) {
        return false;
      }
    }
  }
  return events.back().state == job.state && events[events.size() - 2].state == job.state;
}

}  // namespace

TEST_CASE("a follower sees queued, running, every row, the final state, the end") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  for (const int report_every : {1, 7}) {
    const std::string id = submit(daemon, spec_of(500, 0.001, report_every));
    const auto events = follow(daemon, id, 100);
    CHECK(is_stream_of(events, daemon, id));
    CHECK(daemon.metrics(id, 0, 1000).size() == (report_every == 1 ? 500 : 1 + 71 + 1));
    for (const int limit : {1, 3, 1000})
      CHECK(is_stream_of(follow(daemon, id, limit), daemon, id));  // afterwards
    CHECK(daemon.events(id, {500, P::end}, 10).empty());
    CHECK(daemon.events(id, {500, P::final_state}, 10).size() == 1);
    const auto beyond = daemon.events(id, {600, P::progress}, 10);  // of a row that a crash took
    REQUIRE(beyond.size() == 2);
    CHECK(beyond[0].position == P{500, P::final_state});
    const auto late = daemon.events(id, {490, P::progress}, 1000);
    CHECK(late.front().position.iteration > 490);
    CHECK(daemon.events(id, {0, P::queued}, 1)[0].position == P{0, P::running});
    CHECK(daemon.events(id, {0, P::running}, 1)[0].position == P{1, P::progress});
  }
}

TEST_CASE("a job cancelled while queued has a stream of three") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string running = submit(daemon, spec_of(1'000'000, 0.0001));
  const std::string id = submit(daemon, spec_of(5));
  CHECK(daemon.events(id, {}, 10).size() == 1);
  daemon.cancel(id);
  const auto events = follow(daemon, id, 10);
  REQUIRE(events.size() == 3);
  CHECK(events[0].state == JobState::queued);
  CHECK(events[1].position == P{0, P::final_state});
  CHECK(events[1].state == JobState::cancelled);
  CHECK(events[2].position == P{0, P::end});
  daemon.cancel(running);
}

TEST_CASE("many followers, fast and slow, early and late, all see the same") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  // More rows than the ring holds, so that slow readers meet the store.
  const std::string id = submit(daemon, spec_of(6'000, 0.0001));
  std::atomic<int> good{0};
  std::vector<std::vector<JobEvent>> seen(8);
  std::vector<std::thread> followers;
  for (int i = 0; i < 8; ++i) {
    followers.emplace_back([&, i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(40 * i));
      seen[i] = follow(daemon, id, i % 2 == 0 ? 500 : 13 + i);
    });
  }
  std::atomic<bool> stop{false};
  std::thread asking([&] {  // what the API asks meanwhile
    while (!stop) {
      daemon.status();
      daemon.jobs(std::nullopt, 10, std::nullopt);
      daemon.not_ready();
      std::this_thread::sleep_for(5ms);
    }
  });
  for (std::thread& follower : followers) follower.join();
  stop = true;
  asking.join();
  for (const auto& events : seen) CHECK(is_stream_of(events, daemon, id));
}

TEST_CASE("a follower that falls far behind loses nothing when rows move from the ring to the store") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string id = submit(daemon, spec_of(1'000'000, 0.0001));
  std::vector<JobEvent> events = daemon.events(id, {}, 2);
  // It sleeps while the ring turns over, reads a little, sleeps again.
  for (int round = 1; round <= 2; ++round) {
    const int target = round * (static_cast<int>(EventLog::kCapacity) + 1000);
    REQUIRE(eventually([&] { return daemon.job(id).progress.iteration > target; }));
    const P after = events.empty() ? P{} : events.back().position;
    for (const auto& event : daemon.events(id, after, 50)) events.push_back(event);
  }
  daemon.cancel(id);
  for (const auto& event : follow(daemon, id, 1000, events.back().position)) events.push_back(event);
  CHECK(is_stream_of(events, daemon, id));
}

TEST_CASE("followers of a draining daemon are woken") {
  TemporaryDirectory directory;
  Daemon daemon(daemon_options(directory));
  const std::string running = submit(daemon, spec_of(1'000'000, 0.0001, 1'000'000));
  const std::string queued = submit(daemon, spec_of(5));
  std::thread follower([&] { CHECK(follow(daemon, queued, 10).size() == 1); });
  std::this_thread::sleep_for(50ms);
  const auto begin = std::chrono::steady_clock::now();
  daemon.drain();
  follower.join();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}
