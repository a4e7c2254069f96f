// The operations with vector instructions and threads.
//
// How it works. The images are cut into chunks of kChunkImages by their number alone; each chunk is one task of the
// team and has its own place for what it yields: a partial gradient in float, sums in double. Inside a chunk, tiles of
// images go through the forward kernel, become residuals, and go through the backward kernel while they are still in
// the cache. Then the partial results are added in double in the order of the chunks. So a result depends neither on
// the number of threads nor on which of them did what, and float rounding grows with a chunk, not with the dataset.
// descend keeps the team awake through all iterations (task_rounds.h), and looks only once where images are blank.
//
// Pixels stay the integers 0..255 throughout: the weights are divided by 255 once before a pass, the gradient once
// after it, in double.
//
// Measured, 2026-11-30, AMD EPYC Zen 4 at 2.84 GHz, AVX2, least of 60, one core, nanoseconds an image by kernel:
//                          forward   residual   backward   ink, once a descent
//   MNIST                      105          6         88                    26
//   random bytes               220          6        198                    26
// The multiply-adds alone would be 68 each way on MNIST, where 39.6 % of the vectors have ink, and 173 where all have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/gram_descent.h"
#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/thread_team.h"
#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

// 768 images: a partial gradient is then a twentieth of the images' bytes, and 60,000 images give 79 tasks.
inline constexpr int kChunkImages = 768;
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
    TileSums sums;
  };
  struct Scratch {  // of one member of the team
    AlignedArray<float> scores;
    TileInk ink;
  };
  // A pass over the images with the weights that are packed, and what it leaves for each chunk.
  struct Tile;

  void pack(int c, const float* weights_of_class);
  void pack(const float* weights);
  std::size_t prepare_chunks(int count, bool with_gradients);
  template <class Function>
  void for_each_tile(std::size_t chunk, int count, Function&& function);
  void scores_of(const Tile& tile, const LabelledImages& images, const TileInk& ink, Scratch& scratch);
  template <class InkOf>
  void loss_and_gradient_of(std::size_t chunk, const LabelledImages& images, Scratch& scratch,
                            InkOf&& ink_of);
  void collect(std::size_t chunks, PassStatistics* statistics) const;
  void collect_gradient(int c, std::size_t chunks, int count, float* gradient_of_class) const;

  ThreadTeam team_;
  ReferenceOps plain_;
  GramDescent gram_descent_;
  std::vector<Scratch> scratch_;
  AlignedArray<float> weights_;  // 10×kRowFloats, over 255
  float biases_[kClasses] = {};
  AlignedArray<float> gradient_;   // of descend
  AlignedArray<float> gradients_;  // of chunks, each 10×kRowFloats
  AlignedArray<ChunkSums> sums_;   // of chunks
  AlignedArray<TileInk> ink_;      // of descend, for each tile
};

}  // namespace mnistd::gpu::cpu
