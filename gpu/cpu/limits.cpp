#include "gpu/cpu/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/thread_team.h"

namespace mnistd::gpu::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 25;             // a tenth of a second: long enough that others on the machine pause
constexpr int kCopies = 8;            // each takes longer
constexpr double kLongEnough = 4e-3;  // s: beside it the waking of the team is little
constexpr int kMostRounds = 1 << 28;
constexpr std::size_t kCopyTask = std::size_t{1} << 20;

template <class Function>
double seconds_of(Function&& function) {
  const Clock::time_point begin = Clock::now();
  function();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class Function>
double least_seconds(int runs, Function&& function) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) least = std::min(least, seconds_of(function));
  return least;
}

double bytes_a_second(ThreadTeam& team, std::size_t bytes) {
  const std::size_t tasks = bytes / kCopyTask + 1;
  AlignedArray<std::uint8_t> from(tasks * kCopyTask);
  AlignedArray<std::uint8_t> to(tasks * kCopyTask);
  std::fill_n(from.data(), from.size(), std::uint8_t{1});
  const auto copy = [&] {
    team.run(tasks, [&](std::size_t task, int) {
      std::memcpy(to.data() + task * kCopyTask, from.data() + task * kCopyTask, kCopyTask);
    });
  };
  copy();
  return 2.0 * static_cast<double>(from.size()) / least_seconds(kCopies, copy);
}

double operations_a_second(ThreadTeam& team, LoopResult (*loop)(int rounds)) {
  std::atomic<double> keep = 0;
  double operations = 0;
  int rounds = 1 << 12;
  const auto run = [&] {
    team.run(static_cast<std::size_t>(team.size()), [&](std::size_t task, int) {
      const LoopResult result = loop(rounds);
      keep = result.value;
      if (task == 0) operations = result.operations;
    });
  };
  while (seconds_of(run) < kLongEnough && rounds < kMostRounds) rounds *= 2;
  const double seconds = least_seconds(kRuns, run);
  return operations * team.size() / seconds;
}

}  // namespace

std::size_t bytes_beyond_cache(std::uint64_t cache_bytes) {
  constexpr std::uint64_t kUnknownCache = std::uint64_t{32} << 20;
  return static_cast<std::size_t>(2 * (cache_bytes > 0 ? cache_bytes : kUnknownCache));
}

Limits measure_limits(int threads, std::uint64_t cache_bytes) {
  ThreadTeam team(threads);
  Limits limits;
  limits.bytes = bytes_a_second(team, 2 * bytes_beyond_cache(cache_bytes));
  limits.flops = operations_a_second(team, float_loop);
  limits.byte_operations = operations_a_second(team, byte_loop);
  return limits;
}

}  // namespace mnistd::gpu::cpu
