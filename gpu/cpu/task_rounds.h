// Rounds of numbered tasks, each begun when the one before it is done, that a team goes through without falling asleep
// in between: for iterations of a tenth of a millisecond, of which two wake-ups would be a fifth.
//
// How it works. Everyone who takes part walks through the rounds. The tasks of a round are cut into one span for each member
// of the team; who takes part works off his own span, so that data which a task meets again in each round is in the caches of
// the same core, and then helps out with the others', so that a round is done as well if a core is slow, late or never
// there. A span's counter holds the round in its upper half, the next task in its lower half, and whoever comes first in a new
// round sets it to that round. Done tasks are added up over all rounds; a round begins when those of all rounds before are done.
//
// Who waits for others to finish spins for some microseconds, looking at that sum alone, and then gives up its time slice after
// each look: the machine is shared, and whom we wait for may need this core.
//
// If a task throws, the tasks of later rounds are dropped: take_part returns everywhere, and throws where the task was.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/cpu/aligned_array.h"

namespace mnistd::gpu::cpu {

class TaskRounds {
 public:
  // `rounds` rounds; round k has tasks[k % tasks.size()] tasks, fewer than 2³². members ≥ 1.
  TaskRounds(std::uint32_t rounds, std::vector<std::uint32_t> tasks, int members);

  // Calls function(round, task) until all rounds are done, together with all others who are in here. `member` is below `members`.
  template <class Function>
  void take_part(int member, Function&& function) {
    try {
      std::uint64_t before = 0;  // tasks of earlier rounds
      for (std::uint32_t round = 0; round < rounds_; ++round) {
        const std::uint32_t tasks = tasks_[round % tasks_.size()];
        std::uint32_t done = 0;
        for (std::uint32_t k = 0; k < members_; ++k) {
          const std::uint32_t span = (static_cast<std::uint32_t>(member) + k) % members_;
          for (std::uint32_t task; claim(round, span, tasks, &task); ++done) function(round, task);
        }
        before += tasks;
        if (!wait_for(done, before)) return;
      }
    } catch (...) {
      done_.store(kFailed, std::memory_order_release);
      throw;
    }
  }

 private:
  struct alignas(kAlignment) Span {
    std::atomic<std::uint64_t> next{0};  // round in the upper half, task in the lower
  };
  static constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;

  bool claim(std::uint32_t round, std::uint32_t span, std::uint32_t tasks, std::uint32_t* task);
  // Adds own tasks and waits until `goal` are done in all; false if a task has failed.
  bool wait_for(std::uint32_t own, std::uint64_t goal);

  std::uint32_t rounds_;
  std::vector<std::uint32_t> tasks_;
  std::uint32_t members_;
  std::unique_ptr<Span[]> spans_;
  alignas(kAlignment) std::atomic<std::uint64_t> done_{0};
};

}  // namespace mnistd::gpu::cpu
