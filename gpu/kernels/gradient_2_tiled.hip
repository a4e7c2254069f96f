// Computes   RᵀX over each chunk of at most 512 images, pixels as bytes (finish_pass divides them by 255), the bias as 1
// Shapes     R n×10, X n×784 bytes and a 1; partial gradients chunks × 10×785
// Tiling
//                       28 words = 112 pixels
//                      ┌──────────────────────┐        block: 28 words × 8 slices = 224 threads
//     tile of 64   s0 ►│ t0   t1   …      t27 │        grid:  (chunks, 7 pixel tiles and the bias)
//     images       s1 ►│ t28  t29  …      t55 │        thread: 4 pixels × 10 classes = 40 sums in registers
//                      │  ⋮                   │        LDS:   2,560 bytes of residuals, 7,168 of sums, 880 for the bias
//                  s7 ►│ t196 …          t223 │
//                  s0 ►│ t0   …               │        A chunk is 8 such tiles. Slice s has images s, s + 8, …
//   A tile's 64×10 residuals are staged in LDS, where all 28 threads of a slice read them. Its pixels are not: a word is
//   used by one thread only, for all ten classes, so it goes from global memory to a register, eight words at a time
//   while the residuals come in. At the end the slices' sums are added in LDS, two classes at a time, in their order.
//   The bias has blocks of its own, which add up residuals: thread t those of class t mod 10, in 22 slices.
//   gfx906, hipcc 5.2.3: 63 VGPRs, 4 waves a SIMD, nothing spilt; sm_90a, CUDA 13.0: 74 registers
// Assumes    pixels aligned to 4 bytes
// Measured   H200: 0.064 ms with its reduction at 60,000 images, 22 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30)
// Versus the previous variant: one idea, a thread takes a word, four pixels, in place of a byte, and shares the residuals
//   through LDS: 11 loads for 40 multiplications in place of 11 for 10. The price: of the last wavefront of 64, half of the
//   lanes are idle.
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kWords = 28;
constexpr int kTilePixels = 4 * kWords;
constexpr int kPixelTiles = kPixelWords / kWords;
constexpr int kSlices = 8;
constexpr int kThreads = kWords * kSlices;
constexpr int kTileImages = 64;
constexpr int kSliceImages = kTileImages / kSlices;  // of a tile
constexpr int kPassClasses = 2;                      // whose sums are added at a time: a thread adds one
constexpr int kBiasSlices = kThreads / kClasses;
static_assert(kPixelWords % kWords == 0 && kTileImages % kSlices == 0);
static_assert(kPassClasses * kTilePixels == kThreads && kClasses % kPassClasses == 0);

using ResidualTile = platform::Shared<float, kTileImages, kClasses>;
using SliceSums = platform::Shared<float, kSlices, kPassClasses, kTilePixels>;
using BiasSums = platform::Shared<float, kBiasSlices, kClasses>;

// The bias's entries of one chunk: residuals added up. rows: of the chunk's first image.
__device__ inline void add_bias(const float* rows, int images, BiasSums& bias_sums, float* gradient) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kBiasSlices * kClasses) {
    float sum = 0;
    for (int i = thread; i < images * kClasses; i += kBiasSlices * kClasses) sum += rows[i];
    bias_sums[thread / kClasses][thread % kClasses] = sum;
  }
  __syncthreads();
  if (thread < kClasses) {
    float sum = 0;
    for (int slice = 0; slice < kBiasSlices; ++slice) sum += bias_sums[slice][thread];
    gradient[thread * kFeatures + kPixels] = sum;
  }
}

// Adds the sums of all slices and writes them. gradient: the chunk's, at the tile's first pixel.
__device__ inline void add_slices(const float (&sums)[kClasses][4], SliceSums& slice_sums, float* gradient) {
  const int thread = static_cast<int>(threadIdx.x);
  const int word = thread % kWords;
  const int slice = thread / kWords;
  const int own_class = thread / kTilePixels;
  const int own_pixel = thread % kTilePixels;
#pragma unroll
  for (int c = 0; c < kClasses; c += kPassClasses) {
    if (c > 0) __syncthreads();
#pragma unroll
    for (int k = 0; k < kPassClasses; ++k) {
#pragma unroll
      for (int b = 0; b < 4; ++b) slice_sums[slice][k][4 * word + b] = sums[c + k][b];
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int other = 0; other < kSlices; ++other) sum += slice_sums[other][own_class][own_pixel];
    gradient[(c + own_class) * kFeatures + own_pixel] = sum;
  }
}

__global__ __launch_bounds__(kThreads) void gradient_2_tiled_kernel(const std::uint32_t* pixels,
                                                                    const float* residual, int count,
                                                                    int chunk_images,
                                                                    float* partial_gradients) {
  __shared__ ResidualTile residual_tile;
  __shared__ SliceSums slice_sums;
  __shared__ BiasSums bias_sums;

  const int chunk = static_cast<int>(blockIdx.x);
  const int pixel_tile = static_cast<int>(blockIdx.y);
  const int first = chunk * chunk_images;
  const int images = min(chunk_images, count - first);
  const float* rows = residual + std::int64_t{first} * kClasses;
  float* gradient = partial_gradients + std::int64_t{chunk} * kWeights;
  if (pixel_tile == kPixelTiles) {
    add_bias(rows, images, bias_sums, gradient);
    return;
  }

  const int thread = static_cast<int>(threadIdx.x);
  const int slice = thread / kWords;
  const std::uint32_t* column =
      pixels + std::int64_t{first} * kPixelWords + pixel_tile * kWords + thread % kWords;
  float sums[kClasses][4] = {};
  for (int tile = 0; tile < images; tile += kTileImages) {
    if (tile > 0) __syncthreads();
    std::uint32_t words[kSliceImages];
#pragma unroll
    for (int k = 0; k < kSliceImages; ++k) {
      const int image = tile + k * kSlices + slice;
      words[k] = image < images ? column[image * kPixelWords] : 0u;
    }
    for (int i = thread; i < kTileImages * kClasses; i += kThreads) {
      const int image = tile + i / kClasses;
      residual_tile[i / kClasses][i % kClasses] = image < images ? rows[tile * kClasses + i] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kSliceImages; ++k) {
      float values[4];
#pragma unroll
      for (int b = 0; b < 4; ++b) values[b] = platform::byte_to_float(words[k], b);
#pragma unroll
      for (int c = 0; c < kClasses; ++c) {
        const float factor = residual_tile[k * kSlices + slice][c];
#pragma unroll
        for (int b = 0; b < 4; ++b) sums[c][b] = fmaf(factor, values[b], sums[c][b]);
      }
    }
  }
  add_slices(sums, slice_sums, gradient + pixel_tile * kTilePixels);
}

void gradient_2_tiled(hipStream_t stream, const LabelledImages& images, const float* residual,
                      int chunk_images, float* partial_gradients) {
  hipLaunchKernelGGL(gradient_2_tiled_kernel, dim3(parts_of(images.count, chunk_images), kPixelTiles + 1),
                     dim3(kThreads), 0, stream, words_of(images.pixels), residual, images.count, chunk_images,
                     partial_gradients);
  hip::check_launch("gradient_2_tiled");
}

}  // namespace mnistd::gpu::kernels
