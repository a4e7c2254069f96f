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
inline constexpr int kChunkImages = 512;  // at most, whose gradient is summed in float; beyond, in double
inline constexpr int kLeastImagesABlock =
    64;  // of all residual variants: bounds how many blocks have statistics

// How many images a gradient kernel's block sums: at most kChunkImages, and so many that all compute units are given as many
// chunks. The number of chunks is bounded by what kLeastChunkImages make of n, or by two for each compute unit.
inline constexpr int kLeastChunkImages = 64;
int chunk_images(int images, int compute_units);
int chunks_of(int images, int compute_units);

// What a pass over the images leaves to be added up.
struct PassParts {
  int chunk_images = 0;        // of a part, at most kChunkImages
  float* gradients = nullptr;  // gradient_parts×10×785, of pixels as bytes
  int gradient_parts = 0;
  PassStatistics* statistics = nullptr;
  int statistics_parts = 0;
};

// Scratch memory on the device that serves n images or fewer, in values; the variants of a product share it.
struct WorkspaceSizes {
  std::size_t residual = 0;           // float: n×10, where the residual is not handed out
  std::size_t partial_gradients = 0;  // float: parts×10×785
  std::size_t block_statistics = 0;   // PassStatistics: one a block
};
WorkspaceSizes workspace_sizes(int images, int compute_units);

// W[i] = 0.01·(u − 0.5), u = splitmix32(i + seed) as a 24-bit fraction, rounded once from double.
void initialise(hipStream_t stream, float* weights, std::uint32_t seed);

// W as the products take it. packed: the same pixel by pixel, 784×10, and then the ten biases, aligned to 256 bytes, so that
// what a pixel is multiplied by lies together; pack() writes it. Variants that do without are given null.
struct Weights {
  const float* rows = nullptr;  // 10×785
  const float* packed = nullptr;
};
void pack(hipStream_t stream, const float* weights, float* packed);

// residual = W Xᵀ − Y, n×10; each block's share of the statistics to block_statistics. Return the number of blocks.
int residual_1_plain(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                     float* residual, PassStatistics* block_statistics);
int residual_2_tiled(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                     float* residual, PassStatistics* block_statistics);
int residual_3_registers(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                         float* residual, PassStatistics* block_statistics);
int residual_4_scalar(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                      float* residual, PassStatistics* block_statistics);
int residual_5_ping_pong(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                         float* residual, PassStatistics* block_statistics);

// statistics = the sum of those of `blocks` blocks, in a fixed order.
void reduce_statistics(hipStream_t stream, const PassStatistics* block_statistics, int blocks,
                       PassStatistics* statistics);

// partial_gradients[chunk] = RᵀX over the images of a chunk of chunk_images ≤ kChunkImages, with X's pixels as bytes, not divided by 255, and the bias 1.
void gradient_1_plain(hipStream_t stream, const LabelledImages& images, const float* residual,
                      int chunk_images, float* partial_gradients);
void gradient_2_tiled(hipStream_t stream, const LabelledImages& images, const float* residual,
                      int chunk_images, float* partial_gradients);
void gradient_3_registers(hipStream_t stream, const LabelledImages& images, const float* residual,
                          int chunk_images, float* partial_gradients);

// Both products of a chunk of parts.chunk_images after the other, a tile of images at a time: of each chunk a partial gradient
// and a share of the statistics.
void pass_2_fused(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                  const PassParts& parts);
void pass_3_digits(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                   const PassParts& parts);

// The end of a pass over n images: gradient as reduce_gradient has it, or a step down it, W ← W − rate · gradient, which also
// renews packed unless that is null; and the statistics.
void finish_gradient(hipStream_t stream, const PassParts& parts, int images, float* gradient,
                     PassStatistics* statistics);
void finish_step(hipStream_t stream, const PassParts& parts, int images, float rate, float* weights,
                 float* packed, PassStatistics* statistics);

// gradient = (2/n) · the sum of `parts` partial gradients of n images, its pixels divided by 255. 10×785.
void reduce_gradient(hipStream_t stream, const float* partial_gradients, int parts, int images,
                     float* gradient);

// W ← W − rate · gradient, rounded once.
void step(hipStream_t stream, float* weights, const float* gradient, float rate);

// How the work on a Gram matrix is cut; tests choose other than the default.
struct GramLimits {
  int blocks = 0;            // 0: as many as the device runs at once
  int images_a_sum = 65536;  // summed in 32 bits: at most 66,051, and a multiple of 64
};

// products and class_sums as Ops::gram has them.
void gram_1_plain(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                  std::uint64_t* class_sums, const GramLimits& limits);
void gram_2_dot4(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                 std::uint64_t* class_sums, const GramLimits& limits);
void gram_3_matrix(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                   std::uint64_t* class_sums, const GramLimits& limits);

// Fills what is above the diagonal of products, 785×785, with what is below.
void gram_mirror(hipStream_t stream, std::uint64_t* products);

// next = W − 2·rate·(W G − C); each block's share of ⟨W, W G⟩ − 2⟨W, C⟩ to block_statistics[0 .. kGramStepBlocks).
inline constexpr int kGramStepBlocks = 25;
void gram_step_1_plain(hipStream_t stream, const GramSystem& system, const float* weights, float rate,
                       float* next, PassStatistics* block_statistics);

// statistics = {n·(the sum of those of gram_step's blocks + 1), 0}.
void reduce_gram_statistics(hipStream_t stream, const GramSystem& system,
                            const PassStatistics* block_statistics, PassStatistics* statistics);

// The further variants of the step keep W in padded rows, 10×kGramStride, from one iteration to the next; each iteration
// leaves shares of ⟨W, W G⟩ − 2⟨W, C⟩, share t of iteration k at shares[t·kGramIterations + k].
inline constexpr int kGramIterations = 1024;  // at most between gram_begin and gram_finish
inline constexpr int kGramShares = 128;       // at most of an iteration
inline constexpr int kGramMatrix = kClasses * kGramStride;

// padded = W.
void gram_begin(hipStream_t stream, const float* weights, float* padded);

// W = padded, or, where that is null, the lower halves of exchange, 10×kGramStride; and for k < count
// statistics[k] = {n·(the sum of iteration k's shares + 1), 0}.
void gram_finish(hipStream_t stream, const float* padded, const std::uint64_t* exchange, float* weights,
                 int images, const double* shares, int share_count, int count, PassStatistics* statistics);

// Iteration `iteration`, one launch: next = W − 2·rate·(W G − C), both padded; kGramLaunchShares shares.
inline constexpr int kGramLaunchShares = 100;
void gram_step_2_one_launch(hipStream_t stream, const GramSystem& system, const float* padded, float rate,
                            float* next, int iteration, double* shares);

// `count` ≤ kGramIterations iterations in one launch of blocks that wait for one another: the device must have cooperative
// launches. exchange: 2·kGramMatrix words that start as zero and are kept from call to call, with what was the last
// `first_tag`; iteration k = 0 … leaves its W in exchange at (tag mod 2)·kGramMatrix, tag = first_tag + k + 1 modulo 2³².
// Returns the number of shares. wide: five classes a block in place of two, with the same results, for devices that run
// fewer than 125 blocks at once; blocks: that run at once, at most.
struct GramCooperation {
  bool wide = false;
  int blocks = 1;
};
GramCooperation gram_cooperation();  // what suits the current device
int gram_step_3_cooperative(hipStream_t stream, const GramSystem& system, const float* weights, float rate,
                            int count, std::uint32_t first_tag, std::uint64_t* exchange, double* shares,
                            const GramCooperation& cooperation);

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
