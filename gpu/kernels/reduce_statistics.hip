// Computes   the sum of the statistics of all blocks of a residual kernel
// Shapes     m blocks' PassStatistics → one
// Tiling     one block of 256 threads; thread t adds those of blocks t, t + 256, …, then the block adds its threads' sums.
//            LDS 96 bytes. gfx906, hipcc 5.2.3: 10 VGPRs, 10 waves a SIMD
// Assumes    nothing
// Measured   with residual and its variants: 15 KB at 60,000 images, so bound by the launch
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void reduce_statistics_kernel(const PassStatistics* block_statistics,
                                                                     int blocks, PassStatistics* statistics) {
  __shared__ BlockSumParts<double, kThreads> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, kThreads> correct_parts;

  double squared = 0;
  std::uint32_t correct = 0;
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += kThreads) {
    squared += block_statistics[i].squared_residual;
    correct += block_statistics[i].correct;
  }
  squared = block_sum<kThreads>(squared, squared_parts);
  correct = block_sum<kThreads>(correct, correct_parts);
  if (threadIdx.x == 0) *statistics = PassStatistics{squared, correct, 0};
}

void reduce_statistics(hipStream_t stream, const PassStatistics* block_statistics, int blocks,
                       PassStatistics* statistics) {
  hipLaunchKernelGGL(reduce_statistics_kernel, dim3(1), dim3(kThreads), 0, stream, block_statistics, blocks,
                     statistics);
  hip::check_launch("reduce_statistics");
}

}  // namespace mnistd::gpu::kernels
