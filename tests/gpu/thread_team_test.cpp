#include "gpu/cpu/thread_team.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <signal.h>

#include "gpu/error.h"

namespace mnistd::gpu::cpu {
namespace {

// Waits until `count` reaches `goal`; false if that takes unreasonably long.
bool reaches(const std::atomic<int>& count, int goal) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (count.load() < goal) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

TEST_CASE("every task is done once, by one member at a time") {
  for (int threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    CHECK(team.size() == threads);
    for (std::size_t tasks : {0u, 1u, 2u, 3u, 5u, 1000u}) {
      CAPTURE(threads);
      CAPTURE(tasks);
      std::vector<std::atomic<int>> done(tasks);
      std::vector<std::atomic<int>> busy(static_cast<std::size_t>(threads));
      std::atomic<int> overlaps = 0;
      team.run(tasks, [&](std::size_t task, int member) {
        if (busy.at(static_cast<std::size_t>(member)).fetch_add(1) != 0) ++overlaps;
        done.at(task).fetch_add(1);
        busy.at(static_cast<std::size_t>(member)).fetch_sub(1);
      });
      CHECK(overlaps == 0);
      for (const auto& times : done) CHECK(times == 1);
    }
  }
}

TEST_CASE("a team can be used thousands of times, and plain memory is handed over safely") {
  ThreadTeam team(3);
  std::vector<long> values(7, 0);  // not atomic: the thread sanitizer watches the hand-over
  for (int round = 0; round < 5000; ++round) {
    team.run(values.size(), [&](std::size_t task, int) { values[task] += static_cast<long>(task) + 1; });
  }
  for (std::size_t task = 0; task < values.size(); ++task)
    CHECK(values[task] == 5000L * static_cast<long>(task + 1));
}

TEST_CASE("a team of one works on the caller's thread") {
  ThreadTeam team(1);
  const std::thread::id caller = std::this_thread::get_id();
  bool elsewhere = false;
  team.run(50, [&](std::size_t, int) { elsewhere |= std::this_thread::get_id() != caller; });
  CHECK_FALSE(elsewhere);
}

TEST_CASE("all members take part, and those that are done take what is left of another's share") {
  constexpr int kThreads = 3;
  ThreadTeam team(kThreads);
  std::atomic<int> arrived = 0;
  std::atomic<bool> all_met = true;
  team.run(kThreads, [&](std::size_t, int) {
    ++arrived;
    if (!reaches(arrived, kThreads)) all_met = false;
  });
  CHECK(all_met);

  std::atomic<int> others = 0;
  std::atomic<bool> overtaken = false;
  team.run(100, [&](std::size_t task, int) {
    if (task == 0) {
      overtaken = reaches(others, 99);
    } else {
      ++others;
    }
  });
  CHECK(overtaken);
}

TEST_CASE("an exception reaches the caller, drops what has not begun, and leaves the team usable") {
  for (int threads : {1, 2, 4}) {
    CAPTURE(threads);
    ThreadTeam team(threads);
    for (int round = 0; round < 100; ++round) {
      std::atomic<int> begun = 0;
      const auto fail_at_three = [&](std::size_t task, int) {
        ++begun;
        if (task == 3) throw std::runtime_error("task three");
        if (task > 3) std::this_thread::sleep_for(std::chrono::microseconds(50));
      };
      CHECK_THROWS_WITH_AS(team.run(100000, fail_at_three), "task three", std::runtime_error);
      CHECK(begun < 100000);
    }
    std::atomic<int> done = 0;
    team.run(10, [&](std::size_t, int) { ++done; });
    CHECK(done == 10);
  }
}

TEST_CASE("of several exceptions one is rethrown, once") {
  ThreadTeam team(4);
  CHECK_THROWS_AS(team.run(4, [](std::size_t task, int) { throw std::out_of_range(std::to_string(task)); }),
                  std::out_of_range);
  CHECK_NOTHROW(team.run(4, [](std::size_t, int) {}));
}

TEST_CASE("a task may not use its own team, but may use another") {
  ThreadTeam team(2);
  ThreadTeam other(2);
  CHECK_THROWS_AS(team.run(2, [&](std::size_t, int) { team.run(1, [](std::size_t, int) {}); }),
                  std::logic_error);
  std::atomic<int> done = 0;
  team.run(1, [&](std::size_t, int) { other.run(20, [&](std::size_t, int) { ++done; }); });
  CHECK(done == 20);
}

TEST_CASE("a team has at least one member") {
  CHECK_THROWS_AS(ThreadTeam(0), DeviceError);
  CHECK_THROWS_AS(ThreadTeam(-1), DeviceError);
}

TEST_CASE("members leave the process's signals to the thread that waits for them") {
  constexpr int kThreads = 2;
  ThreadTeam team(kThreads);
  std::atomic<int> arrived = 0;
  std::vector<sigset_t> masks(kThreads);
  team.run(kThreads, [&](std::size_t, int member) {
    pthread_sigmask(SIG_BLOCK, nullptr, &masks[static_cast<std::size_t>(member)]);
    ++arrived;
    reaches(arrived, kThreads);
  });
  REQUIRE(arrived == kThreads);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    CHECK(sigismember(&masks[0], signal) == 0);
    CHECK(sigismember(&masks[1], signal) == 1);
  }
  CHECK(sigismember(&masks[1], SIGSEGV) == 0);
}

}  // namespace mnistd::gpu::cpu
