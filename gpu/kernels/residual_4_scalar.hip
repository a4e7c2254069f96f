// Computes   R = W Xᵀ − Y; a block's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W 10×785, R n×10, labels n
// Tiling     a thread an image with ten sums in registers, blocks of 256, grid n/256 rounded up; 16 pixels at a time. No LDS but
//            of the statistics, 96 bytes, and no barrier in the loop.
//   An entry of W is the same for all lanes: on GCN it is loaded once for the wavefront, through the scalar cache, into a scalar
//   register, and v_fma_f32 takes one operand from there. Vector instructions for 16 pixels: 160 multiply-adds, 16 conversions, 2
//   for the address. gfx906, hipcc 5.2.3: 29 VGPRs, 8 waves a SIMD, 65 SGPRs, 89.8 % of the hot loop's vector instructions are
//   multiply-adds, 160 words in scalar loads, nothing spilt
// Assumes    pixels aligned to 16 bytes
// Measured   H200: 0.224 ms alone at 60,000 images, 6 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30)
// Versus the previous variant: one idea, W needs no vector instruction and no LDS. NVIDIA has no such operand: there it is a load
//   for every multiplication, so it stands behind 3 in the list.
#include "gpu/kernels/image_tail.h"
#include "gpu/kernels/launch.h"
#include "gpu/kernels/scalar_product.h"

namespace mnistd::gpu::kernels {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void residual_4_scalar_kernel(const std::uint32_t* pixels,
                                                                     const std::uint8_t* labels, int count,
                                                                     const float* weights, float* residual,
                                                                     PassStatistics* block_statistics) {
  __shared__ BlockSumParts<double, kThreads> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, kThreads> correct_parts;

  const std::int64_t image = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const Words* quads = quads_of(pixels, image, count);
  float sums[kClasses] = {};
  for (int quad = 0; quad < kQuads; ++quad) {
    const Words words = quads[quad];
    add_quad(words, weights + 16 * quad, sums);
  }
  finish_image<kThreads>(sums, image, count, labels, weights, residual, squared_parts, correct_parts,
                         block_statistics);
}

int residual_4_scalar(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                      float* residual, PassStatistics* block_statistics) {
  static_assert(kThreads >= kLeastImagesABlock);
  const unsigned int blocks = parts_of(images.count, kThreads);
  hipLaunchKernelGGL(residual_4_scalar_kernel, dim3(blocks), dim3(kThreads), 0, stream,
                     words_of(images.pixels), images.labels, images.count, weights.rows, residual,
                     block_statistics);
  hip::check_launch("residual_4_scalar");
  return static_cast<int>(blocks);
}

}  // namespace mnistd::gpu::kernels
