#include "server/recorder.h"

#include <doctest/doctest.h>

#include "tests/server/support.h"

using namespace mnistd;
using namespace mnistd::server;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

struct Room {
  TemporaryDirectory directory;
  JobStore store{directory.path() / "mnistd.sqlite3"};
  EventLog log;
  std::string id = store.insert(queued_job(), std::nullopt).job.id;
  std::optional<Recorder> recorder;
  Room() {
    recorder.emplace(store, log);
    recorder->begin(id);
    log.begin(id, 0);
  }
  void add(int iteration) {
    const JobProgress progress = progress_at(iteration, 1.0 / iteration);
    recorder->add(row_of(iteration), progress);
    log.append(row_of(iteration), progress);
  }
  std::size_t stored() { return store.rows(id, 0, 1'000'000).size(); }
};

}  // namespace

TEST_CASE("a row is on disk within a second, with nobody asking") {
  Room room;
  const auto begin = Clock::now();
  room.add(1);
  REQUIRE(eventually([&] { return room.stored() == 1; }));
  CHECK(Clock::now() - begin < 1s);
  CHECK(room.store.find(room.id)->progress.iteration == 1);
  CHECK(room.store.rows(room.id, 0, 1)[0].loss == 1.0);
  room.add(2);  // and again from rest
  REQUIRE(eventually([&] { return room.stored() == 2; }, 1s));
}

TEST_CASE("flush waits for everything, and does not wait for the usual time") {
  Room room;
  const auto begin = Clock::now();
  for (int i = 1; i <= 100; ++i) room.add(i);
  room.recorder->add(model::Checkpoint{100, 1.5, {1.0F, 2.0F}});
  CHECK(room.recorder->flush(begin + 60s));
  CHECK(Clock::now() - begin < 300ms);
  CHECK(room.stored() == 100);
  CHECK(room.store.checkpoint(room.id)->iteration == 100);
  CHECK(room.recorder->flush(Clock::now()));  // nothing is left
}

TEST_CASE("the log learns what is stored") {
  Room room;
  const int rows = static_cast<int>(EventLog::kCapacity) + 10;
  for (int i = 1; i <= rows; ++i) room.add(i);
  CHECK(room.recorder->flush(Clock::now() + 60s));
  CHECK_FALSE(room.log.recent(room.id, 9, 1)->complete);
  CHECK(room.log.recent(room.id, 10, 1)->complete);
}

TEST_CASE("a hundred thousand rows go in several batches, and the newest checkpoint wins") {
  Room room;
  for (int i = 1; i <= 100'000; ++i) {
    room.recorder->add(row_of(i), progress_at(i));
    if (i % 10'000 == 0) room.recorder->add(model::Checkpoint{i, 1.0 * i, {1.0F * i}});
  }
  REQUIRE(room.recorder->flush(Clock::now() + 60s));
  CHECK(room.stored() == 100'000);
  CHECK(room.store.checkpoint(room.id)->iteration == 100'000);
}

TEST_CASE("a full disk loses nothing, is told, and heals") {
  Room room;
  room.add(1);
  REQUIRE(room.recorder->flush(Clock::now() + 60s));
  CHECK_FALSE(room.recorder->trouble());
  FullDisk full;
  for (int i = 2; i <= 50; ++i) room.add(i);
  room.recorder->add(model::Checkpoint{50, 1, {1.0F}});
  CHECK_FALSE(room.recorder->flush(Clock::now() + 400ms));
  REQUIRE(room.recorder->trouble());
  CHECK(contains(*room.recorder->trouble(), "mnistd.sqlite3"));
  for (int i = 51; i <= 60; ++i) room.add(i);
  CHECK_FALSE(room.recorder->flush(Clock::now() + 1500ms));  // tried again, and again in vain
  CHECK(room.stored() == 1);
  full.heal();
  CHECK(room.recorder->flush(Clock::now() + 60s));
  CHECK_FALSE(room.recorder->trouble());
  const auto rows = room.store.rows(room.id, 0, 1000);
  REQUIRE(rows.size() == 60);
  for (int i = 0; i < 60; ++i) CHECK(rows[i].iteration == i + 1);
  CHECK(room.store.checkpoint(room.id)->iteration == 50);
}

TEST_CASE("a checkpoint is never on disk before the rows that lead to it") {
  Room room;
  FullDisk full;
  for (int i = 1; i <= 10; ++i) room.add(i);
  room.recorder->add(model::Checkpoint{10, 1, {1.0F}});
  CHECK_FALSE(room.recorder->flush(Clock::now() + 200ms));
  CHECK_FALSE(room.store.checkpoint(room.id));
  full.heal();
  REQUIRE(eventually([&] { return room.store.checkpoint(room.id).has_value(); }));
  CHECK(room.stored() == 10);
}

TEST_CASE("going away writes what is left, once") {
  Room room;
  SUBCASE("to a disk with room") {
    for (int i = 1; i <= 30'000; ++i) room.recorder->add(row_of(i), progress_at(i));
    room.recorder.reset();
    CHECK(room.stored() == 30'000);
  }
  SUBCASE("to a full disk") {
    FullDisk full;
    room.add(1);
    const auto begin = Clock::now();
    room.recorder.reset();
    CHECK(Clock::now() - begin < 5s);
    full.heal();
    CHECK(room.stored() == 0);
  }
}
