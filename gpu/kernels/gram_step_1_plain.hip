// Computes   next = W − 2·rate·(W G − C), and each block's share of ⟨W, W G⟩ − 2⟨W, C⟩, summed in double
// Shapes     W 10×785, G 785×800, C 10×800
// Tiling
//                 32 columns                 block: 32 columns × 8 slices = 256 threads
//     row 0   s0 ►│ t0   …  t31 │            grid:  785/32 = 25 blocks
//     row 1   s1 ►│ t32  …  t63 │            thread: a column, ten sums in registers over rows s, s + 8, …
//        ⋮    s7 ►│ t224 … t255 │            LDS:   10,240 bytes of sums, and the statistics'
//   Then 32 threads add the slices in order and write their columns of next.
// Assumes    nothing
// Measured   H200: 0.034 ms an iteration with its reduction and a copy; gfx906: not run (2026-11-30)
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kColumns = 32;
constexpr int kSlices = 8;
constexpr int kThreads = kColumns * kSlices;
static_assert((kFeatures + kColumns - 1) / kColumns == kGramStepBlocks);

__global__ __launch_bounds__(kThreads) void gram_step_1_plain_kernel(const float* products,
                                                                     const float* class_sums,
                                                                     const float* weights, float rate,
                                                                     float* next,
                                                                     PassStatistics* block_statistics) {
  __shared__ platform::Shared<float, kSlices, kClasses, kColumns> slice_sums;
  __shared__ BlockSumParts<double, kThreads> parts;

  const int lane = static_cast<int>(threadIdx.x) % kColumns;
  const int slice = static_cast<int>(threadIdx.x) / kColumns;
  const int column = static_cast<int>(blockIdx.x) * kColumns + lane;
  float sums[kClasses] = {};
  for (int row = slice; row < kFeatures; row += kSlices) {
    const float product = products[row * kGramStride + column];  // the padding of the last columns: zero
#pragma unroll
    for (int c = 0; c < kClasses; ++c) sums[c] = fmaf(weights[c * kFeatures + row], product, sums[c]);
  }
#pragma unroll
  for (int c = 0; c < kClasses; ++c) slice_sums[slice][c][lane] = sums[c];
  __syncthreads();
  double share = 0;
  if (slice == 0 && column < kFeatures) {
#pragma unroll
    for (int c = 0; c < kClasses; ++c) {
      float sum = sums[c];
      for (int other = 1; other < kSlices; ++other) sum += slice_sums[other][c][lane];
      const float weight = weights[c * kFeatures + column];
      const float target = class_sums[c * kGramStride + column];
      share += static_cast<double>(weight) * (sum - 2.0 * target);
      next[c * kFeatures + column] = fmaf(-2.0f * rate, sum - target, weight);
    }
  }
  share = block_sum<kThreads>(share, parts);
  if (threadIdx.x == 0) block_statistics[blockIdx.x] = PassStatistics{share, 0, 0};
}

void gram_step_1_plain(hipStream_t stream, const GramSystem& system, const float* weights, float rate,
                       float* next, PassStatistics* block_statistics) {
  hipLaunchKernelGGL(gram_step_1_plain_kernel, dim3(kGramStepBlocks), dim3(kThreads), 0, stream,
                     system.products, system.class_sums, weights, rate, next, block_statistics);
  hip::check_launch("gram_step_1_plain");
}

}  // namespace mnistd::gpu::kernels
