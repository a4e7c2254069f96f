// Computes   in each thread sixteen chains of v = v + Σ byte i of v · byte i of factors, modulo 2³²; their sum to the sink
// Shapes     rounds ≥ 1; the sink has a value a thread
// Tiling     blocks of 256 threads, as many as asked for. No LDS. Sixteen chains cover the latency with one wavefront a SIMD.
// Assumes    nothing
// Measured   H200: 133·10¹² operations a second, products of bytes and additions (2026-11-30); what it reaches is the device's limit for multiply-adds of bytes (hip/limits.h)
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

__global__ __launch_bounds__(kLimitThreads) void limit_dot4_kernel(std::uint32_t factors, int rounds,
                                                                   std::uint32_t* sink) {
  std::uint32_t chains[kLimitChains];
#pragma unroll
  for (int c = 0; c < kLimitChains; ++c) chains[c] = threadIdx.x + static_cast<std::uint32_t>(c);
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kLimitChains; ++c) chains[c] = platform::dot4(chains[c], factors, chains[c]);
  }
  std::uint32_t sum = 0;
#pragma unroll
  for (int c = 0; c < kLimitChains; ++c) sum += chains[c];
  sink[blockIdx.x * kLimitThreads + threadIdx.x] = sum;
}

void limit_dot4(hipStream_t stream, int blocks, int rounds, std::uint32_t* sink) {
  hipLaunchKernelGGL(limit_dot4_kernel, dim3(static_cast<unsigned int>(blocks)), dim3(kLimitThreads), 0,
                     stream, 0x03010702u, rounds, sink);
  hip::check_launch("limit_dot4");
}

}  // namespace mnistd::gpu::kernels
