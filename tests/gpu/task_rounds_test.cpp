#include "gpu/cpu/task_rounds.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/thread_team.h"

namespace mnistd::gpu::cpu {
namespace {

// Goes through `rounds` with all of a team.
template <class Function>
void run(ThreadTeam& team, TaskRounds& rounds, Function&& function) {
  team.run(static_cast<std::size_t>(team.size()),
           [&](std::size_t, int member) { rounds.take_part(member, function); });
}

}  // namespace

TEST_CASE("every task of every round is done once, after all of the round before") {
  const std::vector<std::uint32_t> tasks = {11, 1, 2, 40};
  for (int threads : {1, 2, 5}) {
    CAPTURE(threads);
    ThreadTeam team(threads);
    constexpr std::uint32_t kRounds = 1001;
    TaskRounds rounds(kRounds, tasks, threads);
    std::vector<std::vector<int>> done(kRounds);  // not atomic: the thread sanitizer watches the hand-over
    for (std::uint32_t round = 0; round < kRounds; ++round) done[round].resize(tasks[round % tasks.size()]);
    std::atomic<int> too_early = 0;
    run(team, rounds, [&](std::uint32_t round, std::uint32_t task) {
      ++done[round].at(task);
      if (round == 0) return;
      for (int times : done[round - 1]) too_early += times != 1;
    });
    CHECK(too_early == 0);
    for (const auto& of_round : done) {
      for (int times : of_round) CHECK(times == 1);
    }
  }
}

TEST_CASE("rounds are done by whoever takes part, however late the others come") {
  TaskRounds rounds(50, {7, 3}, 4);
  int done = 0;
  rounds.take_part(2, [&](std::uint32_t, std::uint32_t) { ++done; });
  CHECK(done == 25 * 10);
  for (int late : {0, 1, 3}) rounds.take_part(late, [&](std::uint32_t, std::uint32_t) { ++done; });
  CHECK(done == 25 * 10);
}

TEST_CASE("no rounds, and a round without tasks") {
  int done = 0;
  TaskRounds(0, {5}, 2).take_part(0, [&](std::uint32_t, std::uint32_t) { ++done; });
  CHECK(done == 0);
  TaskRounds(6, {0, 2}, 2).take_part(1, [&](std::uint32_t, std::uint32_t) { ++done; });
  CHECK(done == 3 * 2);
}

TEST_CASE("a slow task holds up the next round, not the others of its own") {
  ThreadTeam team(2);
  TaskRounds rounds(2, {20, 1}, 2);
  std::atomic<int> done = 0;
  std::atomic<bool> others_done = false;
  run(team, rounds, [&](std::uint32_t round, std::uint32_t task) {
    if (round == 1) {
      CHECK(done == 20);
      return;
    }
    if (task == 0) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (done < 19 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      others_done = done == 19;
    }
    ++done;
  });
  CHECK(others_done);
}

TEST_CASE("a task that throws ends all rounds, and its exception reaches the caller") {
  for (int threads : {1, 2, 4}) {
    CAPTURE(threads);
    ThreadTeam team(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      TaskRounds rounds(100, {8}, threads);
      std::atomic<int> beyond = 0;
      const auto fail = [&](std::uint32_t round, std::uint32_t task) {
        if (round == 5 && task == 6) throw std::runtime_error("round five");
        beyond += round > 5;
      };
      CHECK_THROWS_WITH_AS(run(team, rounds, fail), "round five", std::runtime_error);
      CHECK(beyond == 0);
    }
  }
}

}  // namespace mnistd::gpu::cpu
