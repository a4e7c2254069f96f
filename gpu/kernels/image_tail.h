// What a thread that holds the ten sums of an image does with them. Shared by the variants with a thread an image.
#pragma once

#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/label.h"

namespace mnistd::gpu::kernels {

// sums: Σ w·x of the thread's image, pixels as bytes. All threads of the block call; `image` may lie past the last.
template <int kThreads>
__device__ inline void finish_image(const float (&sums)[kClasses], std::int64_t image, int count,
                                    const std::uint8_t* labels, const float* weights, float* residual,
                                    BlockSumParts<double, kThreads>& squared_parts,
                                    BlockSumParts<std::uint32_t, kThreads>& correct_parts,
                                    PassStatistics* block_statistics) {
  double squared = 0;
  std::uint32_t correct = 0;
  if (image < count) {
    float scores[kClasses];
#pragma unroll
    for (int c = 0; c < kClasses; ++c) scores[c] = sums[c] / 255.0f + weights[c * kFeatures + kPixels];
    const int label = labels[image];
    correct = names_label(scores, label) ? 1 : 0;
    squared = subtract_label(scores, label, residual + image * kClasses);
  }
  squared = block_sum<kThreads>(squared, squared_parts);
  correct = block_sum<kThreads>(correct, correct_parts);
  if (threadIdx.x == 0) block_statistics[blockIdx.x] = PassStatistics{squared, correct, 0};
}

}  // namespace mnistd::gpu::kernels
