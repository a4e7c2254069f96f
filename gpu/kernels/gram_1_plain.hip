// Computes   products = Σ x xᵀ and class_sums[label] = Σ x over the images, x the bytes of an image and a 1: exact
// Shapes     X n×784 bytes and a 1 → 785×785 and 10×785, 64-bit
// Tiling     a thread an entry, blocks of 256; the first 785² threads have the products, the next 7,850 the class sums.
//            Each walks along all images. No LDS.
// Assumes    nothing
// Measured   H200: 46 ms at 60,000 images; gfx906: not run (2026-11-30)
// What is wrong with it: each byte is loaded 785 times, and each product takes an instruction of its own
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;
constexpr int kProducts = kFeatures * kFeatures;

__device__ inline std::uint32_t feature(const std::uint8_t* image, int index) {
  return index < kPixels ? image[index] : 1u;
}

__global__ __launch_bounds__(kThreads) void gram_1_plain_kernel(const std::uint8_t* pixels,
                                                                const std::uint8_t* labels, int count,
                                                                std::uint64_t* products,
                                                                std::uint64_t* class_sums) {
  const int entry = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (entry >= kProducts + kWeights) return;
  const bool product = entry < kProducts;
  const int row = (product ? entry : entry - kProducts) / kFeatures;
  const int column = (product ? entry : entry - kProducts) % kFeatures;
  std::uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* image = pixels + std::int64_t{i} * kPixels;
    const std::uint32_t factor = product ? feature(image, row) : (labels[i] == row ? 1u : 0u);
    sum += factor * feature(image, column);
  }
  (product ? products[entry] : class_sums[entry - kProducts]) = sum;
}

void gram_1_plain(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                  std::uint64_t* class_sums, const GramLimits&) {
  hipLaunchKernelGGL(gram_1_plain_kernel, dim3(parts_of(kProducts + kWeights, kThreads)), dim3(kThreads), 0,
                     stream, images.pixels, images.labels, images.count, products, class_sums);
  hip::check_launch("gram_1_plain");
}

}  // namespace mnistd::gpu::kernels
