// Computes   in each thread sixteen chains of v = v·factor + addend, kept in registers; their sum to the sink
// Shapes     rounds ≥ 1; the sink has a value a thread
// Tiling     blocks of 256 threads, as many as asked for. No LDS. Sixteen chains cover the latency with one wavefront a SIMD.
// Assumes    nothing
// Measured   H200: 63.6 TFLOP/s (2026-11-30); what it reaches is the device's limit for fp32 (hip/limits.h)
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

__global__ __launch_bounds__(kLimitThreads) void limit_fma_kernel(float factor, float addend, int rounds,
                                                                  float* sink) {
  float chains[kLimitChains];
#pragma unroll
  for (int c = 0; c < kLimitChains; ++c) chains[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kLimitChains; ++c) chains[c] = fmaf(chains[c], factor, addend);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kLimitChains; ++c) sum += chains[c];
  sink[blockIdx.x * kLimitThreads + threadIdx.x] = sum;
}

void limit_fma(hipStream_t stream, int blocks, int rounds, float* sink) {
  hipLaunchKernelGGL(limit_fma_kernel, dim3(static_cast<unsigned int>(blocks)), dim3(kLimitThreads), 0,
                     stream, 0.999f, 0.5f, rounds, sink);
  hip::check_launch("limit_fma");
}

}  // namespace mnistd::gpu::kernels
