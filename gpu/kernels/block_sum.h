// The sum of one value a thread over a block: by shuffles within a wavefront, then over the wavefronts in their order.
#pragma once

#include "gpu/platform/platform.h"

namespace mnistd::gpu::kernels {

template <class T, int kThreads>
using BlockSumParts = platform::Shared<T, kThreads / platform::kSmallestWavefront>;

// kThreads: the first of the block that bring a value, a multiple of every wavefront size. All threads of the block call;
// thread 0 gets the sum, the others anything. `parts` is shared memory that serves nothing else.
template <int kThreads, class T>
__device__ inline T block_sum(T value, BlockSumParts<T, kThreads>& parts) {
  const int lanes = platform::wavefront_size();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kThreads) {
    for (int distance = lanes / 2; distance > 0; distance /= 2) value += __shfl_xor(value, distance);
    if (thread % lanes == 0) parts[thread / lanes] = value;
  }
  __syncthreads();
  T sum = 0;
  if (thread == 0) {
    for (int wavefront = 0; wavefront < kThreads / lanes; ++wavefront) sum += parts[wavefront];
  }
  return sum;
}

}  // namespace mnistd::gpu::kernels
