// The scores of a tile of 64 images by a block of 256 threads, with both factors of W Xᵀ staged through LDS. Shared by
// residual_2_tiled, scores and count_correct.
//
//   chunk of 112 pixels (28 words)          The block walks along the 784 pixels in 7 chunks. For each it copies
//             ◄─ 28 words ─►                28 words of each of 64 images (112 contiguous bytes a row) and the 10×112
//          ┌────┬────┬────┬────┐            entries of W that belong to them, then computes.
//  64      │ s0 │ s1 │ s2 │ s3 │
//  images  │    │    │    │    │            Thread t works on image t mod 64 and slice t / 64 of each chunk: 7 words,
//          └────┴────┴────┴────┘            with ten sums in registers. So a wavefront, of 64 or 32, lies within a
//                                           slice: it reads one entry of W, a broadcast, and a column of words, whose
//  rows are 29 words apart, an odd number, so that the lanes fall into different banks.
//
//   At the end slices 1 to 3 hand their sums to slice 0, which adds them in that order.
#pragma once

#include <cstdint>

#include "gpu/kernels/kernels.h"
#include "gpu/platform/platform.h"

namespace mnistd::gpu::kernels::forward {

inline constexpr int kImages = 64;
inline constexpr int kSlices = 4;
inline constexpr int kThreads = kImages * kSlices;
inline constexpr int kChunkWords = 28;
inline constexpr int kChunkPixels = 4 * kChunkWords;
inline constexpr int kSliceWords = kChunkWords / kSlices;
static_assert(kPixelWords % kChunkWords == 0 && kChunkWords % kSlices == 0);

using PixelTile = platform::Shared<std::uint32_t, kImages, kChunkWords + 1>;
using WeightTile = platform::Shared<float, kClasses, kChunkPixels>;
using SliceSums = platform::Shared<float, kSlices - 1, kClasses, kImages>;

__device__ inline int image_of_thread() { return static_cast<int>(threadIdx.x) % kImages; }
__device__ inline int slice_of_thread() { return static_cast<int>(threadIdx.x) / kImages; }

// Copies a chunk of the tile's images and of W. Images past the last are zero.
__device__ inline void load_chunk(const std::uint32_t* pixels, int images, const float* weights, int chunk,
                                  PixelTile& pixel_tile, WeightTile& weight_tile) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < kImages * kChunkWords / kThreads; ++k) {
    const int i = k * kThreads + thread;
    const int image = i / kChunkWords;
    const int word = i % kChunkWords;
    pixel_tile[image][word] = image < images ? pixels[image * kPixelWords + chunk * kChunkWords + word] : 0u;
  }
  for (int i = thread; i < kClasses * kChunkPixels; i += kThreads) {
    const int c = i / kChunkPixels;
    const int pixel = i % kChunkPixels;
    weight_tile[c][pixel] = weights[c * kFeatures + chunk * kChunkPixels + pixel];
  }
}

// pixels: of the tile's first image; images: how many there are from it on, ≥ 1. All threads of the block call. Threads
// of slice 0 get the scores of their image, the others anything.
__device__ inline void tile_scores(const std::uint32_t* pixels, int images, const float* weights,
                                   PixelTile& pixel_tile, WeightTile& weight_tile, SliceSums& slice_sums,
                                   float (&scores)[kClasses]) {
  const int image = image_of_thread();
  const int slice = slice_of_thread();
#pragma unroll
  for (int c = 0; c < kClasses; ++c) scores[c] = 0;

  for (int chunk = 0; chunk < kPixelWords / kChunkWords; ++chunk) {
    if (chunk > 0) __syncthreads();
    load_chunk(pixels, images, weights, chunk, pixel_tile, weight_tile);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kSliceWords; ++k) {
      const int word = slice * kSliceWords + k;
      const std::uint32_t four = pixel_tile[image][word];
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const float pixel = platform::byte_to_float(four, b);
#pragma unroll
        for (int c = 0; c < kClasses; ++c) scores[c] = fmaf(weight_tile[c][4 * word + b], pixel, scores[c]);
      }
    }
  }

  if (slice > 0) {
#pragma unroll
    for (int c = 0; c < kClasses; ++c) slice_sums[slice - 1][c][image] = scores[c];
  }
  __syncthreads();
  if (slice > 0) return;
#pragma unroll
  for (int c = 0; c < kClasses; ++c) {
    for (int other = 0; other < kSlices - 1; ++other) scores[c] += slice_sums[other][c][image];
    scores[c] = scores[c] / 255.0f + weights[c * kFeatures + kPixels];
  }
}

}  // namespace mnistd::gpu::kernels::forward
