// Computes   n·(Σ over the blocks of gram_step + 1), in double, in the order of the blocks
// Shapes     25 PassStatistics → 1
// Tiling     one thread: the sums are few, and their order is fixed
// Assumes    nothing
// Measured   not by itself, bound by the launch: gram_step_1_plain
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

__global__ __launch_bounds__(platform::kSmallestWavefront) void reduce_gram_statistics_kernel(
    const PassStatistics* block_statistics, double images, PassStatistics* statistics) {
  if (threadIdx.x > 0) return;
  double sum = 1;
  for (int block = 0; block < kGramStepBlocks; ++block) sum += block_statistics[block].squared_residual;
  *statistics = PassStatistics{sum * images, 0, 0};
}

void reduce_gram_statistics(hipStream_t stream, const GramSystem& system,
                            const PassStatistics* block_statistics, PassStatistics* statistics) {
  hipLaunchKernelGGL(reduce_gram_statistics_kernel, dim3(1), dim3(platform::kSmallestWavefront), 0, stream,
                     block_statistics, static_cast<double>(system.images), statistics);
  hip::check_launch("reduce_gram_statistics");
}

}  // namespace mnistd::gpu::kernels
