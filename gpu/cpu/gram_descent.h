// Gradient descent by the normal equations with vector instructions and threads.
//
// How it works. A call packs the system (simd_gram_step.h says how) unless the one before has done so, as GramSystem::id tells: it
// costs as much as two or three iterations, and a training that reports each iteration is made of calls of one. Then it goes
// through its iterations as the rounds of task_rounds.h. A task is five classes in the columns of one panel: it reads the weights
// of all features, and writes the next ones of its columns into the other of two arrays, so that a round needs one meeting. Each
// member keeps to the same panels, half of 2 MB on two cores, which its own second-level cache nearly holds.
//
// Every sum is taken by one task, over the rows in order, and the tasks' shares of the loss are added in order: results depend on
// neither the number of threads nor on how iterations are cut into calls.
//
// Measured, 2026-11-30, AMD EPYC Zen 4 at 2.84 GHz, AVX2, MNIST: a task 1.37 µs, 92 % of the rate of multiply-adds, the least of 300;
// an iteration 0.131 ms of processor time, of which 0.114 are the multiply-adds of the 718 features, the least of 31.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/thread_team.h"
#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

class GramDescent {
 public:
  // As Ops::gram_descend, on `team`.
  void run(ThreadTeam& team, const GramSystem& system, float* weights, float rate, int count,
           PassStatistics* statistics);

  std::uint64_t bytes() const {
    return panels_.bytes() + weights_.bytes() + class_sums_.bytes() + shares_.bytes();
  }

 private:
  void pack(ThreadTeam& team, const GramSystem& system);
  void pack_weights(const float* weights);
  void pack_panel(const GramSystem& system, std::size_t panel);
  double step(std::uint32_t round, std::uint32_t task, float twice_rate);
  double loss(std::uint32_t round) const;

  std::uint64_t packed_ = 0;           // id of the system that is packed; 0: none that is known
  std::vector<std::size_t> features_;  // packed ones, ascending
  std::size_t columns_ = 0;            // of a panel
  std::size_t panel_count_ = 0;
  AlignedArray<float> panels_;
  AlignedArray<float> weights_;     // two times 10×kGramStride: of even rounds, of odd ones
  AlignedArray<float> class_sums_;  // 10×kGramStride
  AlignedArray<double> shares_;     // two times: of a round's tasks
};

}  // namespace mnistd::gpu::cpu
