// Computes   R = W Xᵀ − Y; a block's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W 10×785, R n×10, labels n
// Tiling
//                        28 words, a chunk; slices of 4
//                      ┌────┬────┬─ … ─┬────┐     block: 32 columns × 7 slices = 224 threads, 128 images
//     images c, c+32,  │ s0 │ s1 │     │ s6 │     grid:  n/128, rounded up
//     c+64, c+96       └────┴────┴─ … ─┴────┘     thread: 4 images × 10 classes = 40 sums in registers
//   For each of 7 chunks the block copies 28 words of each image, and the 28×10×4 entries of W that belong to them, into LDS. A
//   thread takes 4 words of its 4 images with 16-byte loads, and for each word and class four entries of W as one load that all
//   lanes share. At the end the slices' sums are added in LDS, two classes at a time, in their order.
//   LDS 14,336 bytes of pixels, 4,480 of W, 7,168 of sums, 5,120 of scores, 48 of statistics. gfx906, hipcc 5.2.3: 101 VGPRs, 2
//   waves a SIMD, 85.5 % of the hot loop's vector instructions are multiply-adds, nothing spilt; sm_90a, CUDA 13.0: 125 registers
// Assumes    pixels aligned to 16 bytes
// Measured   H200: 0.0519 ms alone at 60,000 images, 27 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30). Of its
//   instructions there 65 % are multiply-adds, and it issues in 48 % of the cycles: two blocks of 7 warps a multiprocessor.
// Versus the previous variant: one idea, a thread holds a block of the result, 4×10, in registers. What it reads, 4 pixels and 10
//   entries of W, serves 40 multiplications in place of 10. The price: registers, so fewer waves.
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/label.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kImages = 128;      // of a block
constexpr int kThreadImages = 4;  // whose sums a thread holds
constexpr int kColumns = kImages / kThreadImages;
constexpr int kChunkWords = 28;
constexpr int kSlices = kChunkWords / 4;
constexpr int kThreads = kColumns * kSlices;
constexpr int kPassClasses = 2;  // whose sums are added at a time
static_assert(kPixelWords % kChunkWords == 0 && kClasses % kPassClasses == 0 && kThreads >= kImages);

using Words = platform::Four<std::uint32_t>;
using Floats = platform::Four<float>;
using PixelTile = platform::Shared<std::uint32_t, kImages, kChunkWords>;
using WeightTile = platform::Shared<float, kChunkWords, kClasses, 4>;
using SliceSums = platform::Shared<float, kSlices, kPassClasses, kImages>;
using Scores = platform::Shared<float, kClasses, kImages>;

// Copies a chunk of the images and of W into LDS. Images past the last are copies of it.
__device__ inline void load_chunk(const std::uint32_t* pixels, int images, const float* weights, int chunk,
                                  PixelTile& pixel_tile, WeightTile& weight_tile) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < kImages / kColumns; ++k) {
    const int image = k * kColumns + thread / kSlices;
    const int first = 4 * (thread % kSlices);
    const int place = min(image, images - 1) * kPixelWords + chunk * kChunkWords + first;
    platform::store_four<std::uint32_t>(pixel_tile[image], first,
                                        *reinterpret_cast<const Words*>(pixels + place));
  }
#pragma unroll
  for (int k = 0; k < kClasses * 4 * kChunkWords / kThreads; ++k) {
    const int i = k * kThreads + thread;
    const int c = i / (4 * kChunkWords);
    const int pixel = i % (4 * kChunkWords);
    weight_tile[pixel / 4][c][pixel % 4] = weights[c * kFeatures + chunk * 4 * kChunkWords + pixel];
  }
}

// Adds a slice's four words of four images to the thread's sums.
__device__ inline void multiply(const PixelTile& pixel_tile, const WeightTile& weight_tile, int column,
                                int slice, float (&sums)[kClasses][kThreadImages]) {
  Words words[kThreadImages];
#pragma unroll
  for (int i = 0; i < kThreadImages; ++i) {
    words[i] = platform::load_four<std::uint32_t>(pixel_tile[i * kColumns + column], 4 * slice);
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    float values[kThreadImages][4];
#pragma unroll
    for (int i = 0; i < kThreadImages; ++i) {
#pragma unroll
      for (int b = 0; b < 4; ++b) values[i][b] = platform::byte_to_float(words[i].value[w], b);
    }
#pragma unroll
    for (int c = 0; c < kClasses; ++c) {
      const Floats weight = platform::load_four<float>(weight_tile[4 * slice + w][c], 0);
#pragma unroll
      for (int b = 0; b < 4; ++b) {
#pragma unroll
        for (int i = 0; i < kThreadImages; ++i) {
          sums[c][i] = fmaf(weight.value[b], values[i][b], sums[c][i]);
        }
      }
    }
  }
}

__global__ __launch_bounds__(kThreads) void residual_3_registers_kernel(const std::uint32_t* pixels,
                                                                        const std::uint8_t* labels, int count,
                                                                        const float* weights, float* residual,
                                                                        PassStatistics* block_statistics) {
  __shared__ PixelTile pixel_tile alignas(16);
  __shared__ WeightTile weight_tile alignas(16);
  __shared__ SliceSums slice_sums;
  __shared__ Scores block_scores;
  __shared__ BlockSumParts<double, kImages> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, kImages> correct_parts;

  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kColumns;
  const int slice = thread / kColumns;
  const int first = static_cast<int>(blockIdx.x) * kImages;
  const int images = count - first;
  const std::uint32_t* own_pixels = pixels + std::int64_t{first} * kPixelWords;
  float sums[kClasses][kThreadImages] = {};
  for (int chunk = 0; chunk < kPixelWords / kChunkWords; ++chunk) {
    if (chunk > 0) __syncthreads();
    load_chunk(own_pixels, images, weights, chunk, pixel_tile, weight_tile);
    __syncthreads();
    multiply(pixel_tile, weight_tile, column, slice, sums);
  }

#pragma unroll
  for (int c = 0; c < kClasses; c += kPassClasses) {
    if (c > 0) __syncthreads();
#pragma unroll
    for (int k = 0; k < kPassClasses; ++k) {
#pragma unroll
      for (int i = 0; i < kThreadImages; ++i) slice_sums[slice][k][i * kColumns + column] = sums[c + k][i];
    }
    __syncthreads();
    for (int i = thread; i < kPassClasses * kImages; i += kThreads) {
      float sum = 0;
#pragma unroll
      for (int other = 0; other < kSlices; ++other) sum += slice_sums[other][i / kImages][i % kImages];
      block_scores[c + i / kImages][i % kImages] = sum;
    }
  }
  __syncthreads();

  double squared = 0;
  std::uint32_t correct = 0;
  if (thread < kImages && thread < images) {
    float scores[kClasses];
#pragma unroll
    for (int c = 0; c < kClasses; ++c) {
      scores[c] = block_scores[c][thread] / 255.0f + weights[c * kFeatures + kPixels];
    }
    const int label = labels[first + thread];
    correct = names_label(scores, label) ? 1 : 0;
    squared = subtract_label(scores, label, residual + std::int64_t{first + thread} * kClasses);
  }
  squared = block_sum<kImages>(squared, squared_parts);
  correct = block_sum<kImages>(correct, correct_parts);
  if (thread == 0) block_statistics[blockIdx.x] = PassStatistics{squared, correct, 0};
}

int residual_3_registers(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                         float* residual, PassStatistics* block_statistics) {
  static_assert(kImages >= kLeastImagesABlock);
  const unsigned int blocks = parts_of(images.count, kImages);
  hipLaunchKernelGGL(residual_3_registers_kernel, dim3(blocks), dim3(kThreads), 0, stream,
                     words_of(images.pixels), images.labels, images.count, weights.rows, residual,
                     block_statistics);
  hip::check_launch("residual_3_registers");
  return static_cast<int>(blocks);
}

}  // namespace mnistd::gpu::kernels
