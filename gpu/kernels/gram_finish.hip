// Computes   W = what the last iteration left, and n·(Σ shares + 1) of each iteration, in double, in the order of the shares
// Shapes     10×800 floats, or as many words whose lower half is a float → 10×785; up to 128 shares × 1,024 iterations → count PassStatistics
// Tiling     a thread a weight, and a thread an iteration; blocks of 128
//            gfx906, hipcc 5.2.3: 22 VGPRs, 10 waves a SIMD
// Assumes    nothing
// Measured   not by itself: 1 MB at most, bound by the launch
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 128;

__global__ __launch_bounds__(kThreads) void gram_finish_kernel(const float* padded,
                                                               const std::uint64_t* exchange, float* weights,
                                                               double images, const double* shares,
                                                               int share_count, int count,
                                                               PassStatistics* statistics) {
  const int index = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (index < kWeights) {
    const int entry = index / kFeatures * kGramStride + index % kFeatures;
    weights[index] =
        exchange == nullptr ? padded[entry] : __uint_as_float(static_cast<std::uint32_t>(exchange[entry]));
  }
  if (index >= count) return;
  double sum = 1;
#pragma unroll 8
  for (int share = 0; share < share_count; ++share) sum += shares[share * kGramIterations + index];
  statistics[index] = PassStatistics{sum * images, 0, 0};
}

void gram_finish(hipStream_t stream, const float* padded, const std::uint64_t* exchange, float* weights,
                 int images, const double* shares, int share_count, int count, PassStatistics* statistics) {
  hipLaunchKernelGGL(gram_finish_kernel, dim3(parts_of(kWeights, kThreads)), dim3(kThreads), 0, stream,
                     padded, exchange, weights, static_cast<double>(images), shares, share_count, count,
                     statistics);
  hip::check_launch("gram_finish");
}

}  // namespace mnistd::gpu::kernels
