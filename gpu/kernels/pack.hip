// Computes   packed[p·10 + c] = W[c][p]
// Shapes     W 10×785, packed 785×10: the transpose
// Tiling     a thread an entry of packed, blocks of 256: 31 of them. No LDS.
// Assumes    nothing
// Measured   with what needs it
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void pack_kernel(const float* weights, float* packed) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < kWeights) packed[i] = weights[i % kClasses * kFeatures + i / kClasses];
}

void pack(hipStream_t stream, const float* weights, float* packed) {
  hipLaunchKernelGGL(pack_kernel, dim3(parts_of(kWeights, kThreads)), dim3(kThreads), 0, stream, weights,
                     packed);
  hip::check_launch("pack");
}

}  // namespace mnistd::gpu::kernels
