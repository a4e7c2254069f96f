// Computes   R = W Xᵀ − Y; a block's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W 10×785, R n×10, labels n
// Tiling
//                pixels 0 ───────────► 783
//     image 0    thread 0, ten sums in registers ──►
//     image 1    thread 1                        ──►     block: 256 images
//        ⋮          ⋮                                    grid:  n/256 blocks, rounded up
//     image 255  thread 255                      ──►     LDS:   of the statistics only, 96 bytes
//   A thread reads its image a word of four pixels at a time. All threads read the same entry of W at once: an address
//   that the compiler sees to be uniform, hence a scalar load on AMD and a broadcast on NVIDIA.
//   gfx906, hipcc 5.2.3: 30 VGPRs, 8 waves a SIMD, nothing spilt; sm_90a, CUDA 13.0: 32 registers
// Assumes    pixels aligned to 4 bytes
// Measured   H200: 0.234 ms with its reduction at 60,000 images, 6 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30)
// Versus the previous variant: there is none. What is wrong with it: neighbouring lanes read words 784 bytes apart, so
//   each load touches as many cache lines as there are lanes, and relies on the cache to keep them for the next 15 loads.
//   And a thread an image fills the device only from some 100,000 images on.
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/label.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void residual_1_plain_kernel(const std::uint32_t* pixels,
                                                                    const std::uint8_t* labels, int count,
                                                                    const float* weights, float* residual,
                                                                    PassStatistics* block_statistics) {
  __shared__ BlockSumParts<double, kThreads> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, kThreads> correct_parts;

  const std::int64_t image = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  double squared = 0;
  std::uint32_t correct = 0;
  if (image < count) {
    float scores[kClasses] = {};
    const std::uint32_t* words = pixels + image * kPixelWords;
    for (int word = 0; word < kPixelWords; ++word) {
      const std::uint32_t four = words[word];
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const float pixel = platform::byte_to_float(four, b);
#pragma unroll
        for (int c = 0; c < kClasses; ++c) {
          scores[c] = fmaf(weights[c * kFeatures + 4 * word + b], pixel, scores[c]);
        }
      }
    }
#pragma unroll
    for (int c = 0; c < kClasses; ++c) scores[c] = scores[c] / 255.0f + weights[c * kFeatures + kPixels];

    const int label = labels[image];
    correct = names_label(scores, label) ? 1 : 0;
    squared = subtract_label(scores, label, residual + image * kClasses);
  }
  squared = block_sum<kThreads>(squared, squared_parts);
  correct = block_sum<kThreads>(correct, correct_parts);
  if (threadIdx.x == 0) block_statistics[blockIdx.x] = PassStatistics{squared, correct, 0};
}

int residual_1_plain(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                     float* residual, PassStatistics* block_statistics) {
  static_assert(kThreads >= kLeastImagesABlock);
  const unsigned int blocks = parts_of(images.count, kThreads);
  hipLaunchKernelGGL(residual_1_plain_kernel, dim3(blocks), dim3(kThreads), 0, stream,
                     words_of(images.pixels), images.labels, images.count, weights.rows, residual,
                     block_statistics);
  hip::check_launch("residual_1_plain");
  return static_cast<int>(blocks);
}

}  // namespace mnistd::gpu::kernels
