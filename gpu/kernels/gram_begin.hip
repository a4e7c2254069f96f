// Computes   padded = W, with zeros behind each row
// Shapes     10×785 → 10×800
// Tiling     a thread an entry of padded, blocks of 256
//            gfx906, hipcc 5.2.3: 4 VGPRs, 10 waves a SIMD
// Assumes    nothing
// Measured   not by itself: 31 KB, bound by the launch
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void gram_begin_kernel(const float* weights, float* padded) {
  const int entry = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (entry >= kGramMatrix) return;
  const int column = entry % kGramStride;
  padded[entry] = column < kFeatures ? weights[entry / kGramStride * kFeatures + column] : 0.0f;
}

void gram_begin(hipStream_t stream, const float* weights, float* padded) {
  hipLaunchKernelGGL(gram_begin_kernel, dim3(parts_of(kGramMatrix, kThreads)), dim3(kThreads), 0, stream,
                     weights, padded);
  hip::check_launch("gram_begin");
}

}  // namespace mnistd::gpu::kernels
