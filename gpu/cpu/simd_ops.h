// The operations with vector instructions and threads.
//
// How it works. The images are cut into chunks of kChunkImages by their number alone; each chunk is one task of the
// team and has its own place for what it yields: a partial gradient in float, sums in double. Inside a chunk, tiles of
// images go through the forward kernel, become residuals, and go through the backward kernel while they are still in
// the cache. Then the partial results are added in double in the order of the chunks. So a result depends neither on
// the number of threads nor on which of them did what, and float rounding grows with a chunk, not with the dataset.
//
// Pixels stay the integers 0..255 throughout: the weights are divided by 255 once before a pass, the gradient once
// after it, in double.
//
// Measured, loss_and_gradient over 60,000 images, 2026-11-30:
//   AMD EPYC Zen 4, 2 cores, AVX2: 29.4 ms of processor time, the least of 40 (17.4 residual, 18.5 gradient when asked
//   for alone). The multiply-adds alone, at the 5.7 thousand million vectors a second that a loop of nothing else makes
//   on one core: 20.6 ms, so 70 %. The backward kernel alone is at 95 % of that rate, the forward kernel at 76 %. The
//   machine was shared that day, so there is no wall time worth quoting for both cores.
//   Intel Xeon with AVX-512, minima by the clock: 11.2 ms on 2 cores, 3.9 ms on 8.
// Without fetch_ahead (simd_forward.cpp) the Zen 4 figure is 36 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/thread_team.h"
#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

// 400 images: a partial gradient is then a tenth of the images' bytes, and 60,000 images give 150 tasks.
inline constexpr int kChunkImages = 400;
static_assert(kChunkImages % kTileImages == 0);

class SimdOps : public Ops {
 public:
  explicit SimdOps(int threads);  // ≥ 1

  void initialise(float* weights, std::uint32_t seed) override;
  void residual(const LabelledImages& images, const float* weights, float* residual,
                PassStatistics* statistics) override;
  void gradient(const LabelledImages& images, const float* residual, float* gradient) override;
  void loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                         PassStatistics* statistics) override;
  void step(float* weights, const float* gradient, float rate) override;
  void descend(const LabelledImages& images, float* weights, float rate, int count,
               PassStatistics* statistics) override;
  void gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) override;
  void gram_descend(const GramSystem& system, float* weights, float rate, int count,
                    PassStatistics* statistics) override;
  void scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) override;
  void count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) override;

  // Of all the arrays below.
  std::uint64_t scratch_bytes() const;

 private:
  // What a chunk yields besides its partial gradient. A cache line apart from the next chunk's.
  struct alignas(kAlignment) ChunkSums {
    double squared_residual;
    double bias_gradient[kClasses];
    std::uint32_t correct;
  };
  struct Scratch {  // of one member of the team
    AlignedArray<float> rows;
    AlignedArray<float> scores;
  };

  void pack(const float* weights);
  std::size_t prepare_chunks(int count, bool with_gradients);
  template <class Function>
  void for_each_tile(int count, Function&& function);
  void collect(std::size_t chunks, PassStatistics* statistics) const;
  void collect_gradient(std::size_t chunks, int count, float* gradient);

  ThreadTeam team_;
  ReferenceOps plain_;
  std::vector<Scratch> scratch_;
  AlignedArray<float> weights_;  // 10×kRowFloats, over 255
  float biases_[kClasses] = {};
  AlignedArray<float> gradient_;   // of descend
  AlignedArray<float> gradients_;  // of chunks, each 10×kRowFloats
  AlignedArray<ChunkSums> sums_;   // of chunks
};

}  // namespace mnistd::gpu::cpu
