// Computes   R = W Xᵀ − Y; a block's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W 10×785 and packed as pack.hip has it, R n×10, labels n
// Tiling
//     image     ├ 32 pixels ┼ 32 pixels ┼ 32 … ┤        a thread an image with ten sums in registers, blocks of 64
//     loaded    ping          pong         ping         grid: n/64, rounded up
//     used                    ping         pong         LDS:  16 bytes, of the statistics
//   While 32 pixels are used, the next 32 are on their way to the other set of registers: 1,280 cycles of arithmetic for a load
//   to come in. W is packed pixel by pixel, so that the forty factors of a word lie together: two s_load_dwordx16 and one of
//   8 words, where rows 785 apart took ten.
//   gfx906, hipcc 5.2.3: 35 VGPRs, 7 waves a SIMD, 82 SGPRs, 90.5 % of the hot loop's vector instructions are multiply-adds: 640 of
//   707, the rest 64 conversions and 3 for addresses; 640 words in scalar loads, nothing spilt
// Assumes    pixels aligned to 16 bytes
// Measured   H200: 0.170 ms with its reduction at 60,000 images, 9 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30)
// Versus the previous variant: one idea, loads before they are needed; a thread waits for memory no more than for its own
//   arithmetic. 60,000 images are 4 waves a SIMD on 60 compute units, too few to hide a load from memory by themselves.
#include "gpu/kernels/image_tail.h"
#include "gpu/kernels/launch.h"
#include "gpu/kernels/scalar_product.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 64;
constexpr int kStepQuads = 2;
constexpr int kSteps = kQuads / kStepQuads;
static_assert(kSteps % 2 == 0 && kQuads % kStepQuads == 1);

__device__ inline void load_step(const Words* quads, Words (&words)[kStepQuads]) {
#pragma unroll
  for (int k = 0; k < kStepQuads; ++k) words[k] = quads[k];
}

// sums[c] += Σ w·x over 16 pixels. packed: of the first of them.
__device__ inline void add_packed(const Words& words, const float* packed, float (&sums)[kClasses]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    platform::keep_order();  // else the compiler gathers more of W than there are scalar registers
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const float pixel = platform::byte_to_float(words.value[w], b);
#pragma unroll
      for (int c = 0; c < kClasses; ++c) sums[c] = fmaf(packed[(w * 4 + b) * kClasses + c], pixel, sums[c]);
    }
  }
}

__device__ inline void add_step(const Words (&words)[kStepQuads], const float* packed,
                                float (&sums)[kClasses]) {
#pragma unroll
  for (int k = 0; k < kStepQuads; ++k) add_packed(words[k], packed + 16 * kClasses * k, sums);
}

__global__ __launch_bounds__(kThreads) void residual_5_ping_pong_kernel(const std::uint32_t* pixels,
                                                                        const std::uint8_t* labels, int count,
                                                                        const float* weights,
                                                                        const float* packed, float* residual,
                                                                        PassStatistics* block_statistics) {
  __shared__ BlockSumParts<double, kThreads> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, kThreads> correct_parts;

  const std::int64_t image = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const Words* quads = quads_of(pixels, image, count);
  float sums[kClasses] = {};
  Words ping[kStepQuads];
  Words pong[kStepQuads];
  load_step(quads, ping);
  for (int step = 0; step < kSteps; step += 2) {
    load_step(quads + kStepQuads, pong);
    add_step(ping, packed, sums);
    // The last step loads the image's last quad, and one again before it, as there is none behind.
    quads += 2 * kStepQuads - (step + 2 < kSteps ? 0 : 1);
    load_step(quads, ping);
    add_step(pong, packed + 16 * kClasses * kStepQuads, sums);
    packed += 2 * 16 * kClasses * kStepQuads;
  }
  add_packed(ping[kStepQuads - 1], packed, sums);
  finish_image<kThreads>(sums, image, count, labels, weights, residual, squared_parts, correct_parts,
                         block_statistics);
}

int residual_5_ping_pong(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                         float* residual, PassStatistics* block_statistics) {
  static_assert(kThreads >= kLeastImagesABlock);
  const unsigned int blocks = parts_of(images.count, kThreads);
  hipLaunchKernelGGL(residual_5_ping_pong_kernel, dim3(blocks), dim3(kThreads), 0, stream,
                     words_of(images.pixels), images.labels, images.count, weights.rows, weights.packed,
                     residual, block_statistics);
  hip::check_launch("residual_5_ping_pong");
  return static_cast<int>(blocks);
}

}  // namespace mnistd::gpu::kernels
