// Computes   R = W Xᵀ − Y; a block's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W 10×785, R n×10, labels n
// Tiling     forward_tile.h: a block of 256 threads has 64 images, four threads an image; grid: n/64 blocks, rounded up;
//            LDS 7,424 bytes of pixels, 4,480 of W, 7,680 of sums, and 96 for the statistics.
//            gfx906, hipcc 5.2.3: 66 VGPRs, 3 waves a SIMD, nothing spilt; sm_90a, CUDA 13.0: 80 registers
// Assumes    pixels aligned to 4 bytes
// Measured   H200: 0.080 ms with its reduction at 60,000 images, 18 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30)
// Versus the previous variant: one idea, both factors go through LDS. Global loads are then contiguous whatever the
//   sums need, every byte of X is loaded once by one lane, and an image is shared by four threads, which fills the
//   device with a quarter of the images. The price: an entry of W is read from LDS for every multiplication, ten reads
//   for ten, where the plain variant had it from a scalar register.
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/forward_tile.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/label.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

__global__ __launch_bounds__(forward::kThreads) void residual_2_tiled_kernel(
    const std::uint32_t* pixels, const std::uint8_t* labels, int count, const float* weights, float* residual,
    PassStatistics* block_statistics) {
  __shared__ forward::PixelTile pixel_tile;
  __shared__ forward::WeightTile weight_tile;
  __shared__ forward::SliceSums slice_sums;
  __shared__ BlockSumParts<double, forward::kThreads> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, forward::kThreads> correct_parts;

  const int first = static_cast<int>(blockIdx.x) * forward::kImages;
  const int images = count - first;
  float scores[kClasses];
  forward::tile_scores(pixels + std::int64_t{first} * kPixelWords, images, weights, pixel_tile, weight_tile,
                       slice_sums, scores);

  double squared = 0;
  std::uint32_t correct = 0;
  const int image = forward::image_of_thread();
  if (forward::slice_of_thread() == 0 && image < images) {
    const int label = labels[first + image];
    correct = names_label(scores, label) ? 1 : 0;
    squared = subtract_label(scores, label, residual + std::int64_t{first + image} * kClasses);
  }
  squared = block_sum<forward::kThreads>(squared, squared_parts);
  correct = block_sum<forward::kThreads>(correct, correct_parts);
  if (threadIdx.x == 0) block_statistics[blockIdx.x] = PassStatistics{squared, correct, 0};
}

int residual_2_tiled(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                     float* residual, PassStatistics* block_statistics) {
  static_assert(forward::kImages >= kLeastImagesABlock);
  const unsigned int blocks = parts_of(images.count, forward::kImages);
  hipLaunchKernelGGL(residual_2_tiled_kernel, dim3(blocks), dim3(forward::kThreads), 0, stream,
                     words_of(images.pixels), images.labels, images.count, weights.rows, residual,
                     block_statistics);
  hip::check_launch("residual_2_tiled");
  return static_cast<int>(blocks);
}

}  // namespace mnistd::gpu::kernels
