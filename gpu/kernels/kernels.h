// What can be launched: one launcher a kernel, defined in the kernel's own file. The variants of a product are numbered by
// idea; variants.h says which of them runs.
//
// All pointers are device memory that the caller owns, pixels aligned to 4 bytes; n = images.count ≥ 1. A launcher puts its
// work on `stream` and returns; it allocates nothing. It throws DeviceError where the launch is refused; a fault while the
// kernel runs surfaces when the stream is waited for. Results depend on the inputs and on the device's wavefront size only:
// they are the same, bit for bit, in every run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/ops.h"
#include "gpu/platform/platform.h"

namespace mnistd::gpu::kernels {

inline constexpr int kPixelWords = kPixels / 4;  // an image's pixels as 32-bit words
inline constexpr int kChunkImages = 512;  // whose gradient is summed in float; chunks are added in double
inline constexpr int kLeastImagesABlock =
    64;  // of all residual variants: bounds how many blocks have statistics

// Scratch memory on the device that serves n images or fewer, in values; the variants of a product share it.
struct WorkspaceSizes {
  std::size_t residual = 0;           // float: n×10, where the residual is not handed out
  std::size_t partial_gradients = 0;  // float: chunks×10×785
  std::size_t block_statistics = 0;   // PassStatistics: one a block of the residual kernel
};
WorkspaceSizes workspace_sizes(int images);

// n / kChunkImages, rounded up.
int chunks_of(int images);

// W[i] = 0.01·(u − 0.5), u = splitmix32(i + seed) as a 24-bit fraction, rounded once from double.
void initialise(hipStream_t stream, float* weights, std::uint32_t seed);

// residual = W Xᵀ − Y, n×10; each block's share of the statistics to block_statistics. Return the number of blocks.
int residual_1_plain(hipStream_t stream, const LabelledImages& images, const float* weights, float* residual,
                     PassStatistics* block_statistics);
int residual_2_tiled(hipStream_t stream, const LabelledImages& images, const float* weights, float* residual,
                     PassStatistics* block_statistics);

// statistics = the sum of those of `blocks` blocks, in a fixed order.
void reduce_statistics(hipStream_t stream, const PassStatistics* block_statistics, int blocks,
                       PassStatistics* statistics);

// partial_gradients[chunk] = RᵀX over the images of a chunk, with X's pixels as bytes, not divided by 255, and the bias 1.
void gradient_1_plain(hipStream_t stream, const LabelledImages& images, const float* residual,
                      float* partial_gradients);
void gradient_2_tiled(hipStream_t stream, const LabelledImages& images, const float* residual,
                      float* partial_gradients);

// gradient = (2/n) · the sum over the chunks of n images, its pixels divided by 255. 10×785.
void reduce_gradient(hipStream_t stream, const float* partial_gradients, int images, float* gradient);

// W ← W − rate · gradient, rounded once.
void step(hipStream_t stream, float* weights, const float* gradient, float rate);

// products and class_sums as Ops::gram has them.
void gram_1_plain(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                  std::uint64_t* class_sums);

// next = W − 2·rate·(W G − C); each block's share of ⟨W, W G⟩ − 2⟨W, C⟩ to block_statistics[0 .. kGramStepBlocks).
inline constexpr int kGramStepBlocks = 25;
void gram_step_1_plain(hipStream_t stream, const GramSystem& system, const float* weights, float rate,
                       float* next, PassStatistics* block_statistics);

// statistics = {n·(the sum of those of gram_step's blocks + 1), 0}.
void reduce_gram_statistics(hipStream_t stream, const GramSystem& system,
                            const PassStatistics* block_statistics, PassStatistics* statistics);

// scores = W Xᵀ, n×10.
void scores(hipStream_t stream, const std::uint8_t* pixels, int images, const float* weights, float* scores);

// *correct = the number of images that W classifies right.
void count_correct(hipStream_t stream, const LabelledImages& images, const float* weights,
                   std::uint32_t* correct);

// Loops that reach what a device can at most, and do nothing else (hip/limits.h).
// to = from; both aligned to 8 bytes, bytes a multiple of kLimitCopyBytes.
inline constexpr std::size_t kLimitCopyBytes = 16384;
void limit_copy(hipStream_t stream, const void* from, void* to, std::size_t bytes);

// In each of blocks·kLimitThreads threads, `rounds` rounds of kLimitChains operations that do not depend on one another;
// sink gets a value a thread, so that nothing is left out.
inline constexpr int kLimitThreads = 256;
inline constexpr int kLimitChains = 16;
void limit_fma(hipStream_t stream, int blocks, int rounds, float* sink);  // an operation: a multiply-add
void limit_dot4(hipStream_t stream, int blocks, int rounds, std::uint32_t* sink);  // four of bytes

}  // namespace mnistd::gpu::kernels
