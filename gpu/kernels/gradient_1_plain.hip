// Computes   RᵀX over each chunk of at most 512 images, pixels as bytes (finish_pass divides them by 255), the bias as 1
// Shapes     R n×10, X n×784 bytes and a 1; partial gradients chunks × 10×785
// Tiling
//                    features 0 ──────────► 784
//     chunk 0        │block │block │block │block │      block: 256 features, a thread each, with ten sums in registers
//     (≤ 512)        │(0,0) │(0,1) │(0,2) │(0,3) │      grid:  (chunks, 4)
//     chunk 1        │(1,0) │  …                        LDS:   none
//   The threads of a block walk down the images together: neighbouring lanes read neighbouring bytes, and all read the
//   same ten residuals, at an address that the compiler sees to be uniform.
//   gfx906, hipcc 5.2.3: 16 VGPRs, 10 waves a SIMD, nothing spilt; sm_90a, CUDA 13.0: 32 registers
// Assumes    nothing
// Measured   H200: 0.183 ms with its reduction at 60,000 images, 8 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30)
// Versus the previous variant: there is none. What is wrong with it: a load brings a lane one byte, and there is a load for
//   every ten multiplications. Of the last block's threads, 17 of 256 have work.
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void gradient_1_plain_kernel(const std::uint8_t* pixels,
                                                                    const float* residual, int count,
                                                                    int chunk_images,
                                                                    float* partial_gradients) {
  const int feature = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  if (feature >= kFeatures) return;
  const int chunk = static_cast<int>(blockIdx.x);
  const int first = chunk * chunk_images;
  const int images = min(chunk_images, count - first);
  const std::uint8_t* column = pixels + std::int64_t{first} * kPixels + feature;
  const float* rows = residual + std::int64_t{first} * kClasses;

  float sums[kClasses] = {};
  for (int image = 0; image < images; ++image) {
    const float value = feature < kPixels ? static_cast<float>(column[image * kPixels]) : 1.0f;
#pragma unroll
    for (int c = 0; c < kClasses; ++c) sums[c] = fmaf(rows[image * kClasses + c], value, sums[c]);
  }
  float* gradient = partial_gradients + std::int64_t{chunk} * kWeights;
#pragma unroll
  for (int c = 0; c < kClasses; ++c) gradient[c * kFeatures + feature] = sums[c];
}

void gradient_1_plain(hipStream_t stream, const LabelledImages& images, const float* residual,
                      int chunk_images, float* partial_gradients) {
  hipLaunchKernelGGL(
      gradient_1_plain_kernel, dim3(parts_of(images.count, chunk_images), parts_of(kFeatures, kThreads)),
      dim3(kThreads), 0, stream, images.pixels, residual, images.count, chunk_images, partial_gradients);
  hip::check_launch("gradient_1_plain");
}

}  // namespace mnistd::gpu::kernels
