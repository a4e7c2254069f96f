// Computes   R = W Xᵀ − Y and RᵀX over each chunk of at most 512 images, pixels as bytes (finish_pass divides them by 255), the
//            bias as 1; a chunk's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W packed as pack.hip has it, labels n; partial gradients chunks × 10×785
// Tiling
//     64 images in LDS, 50,176 bytes, one tile of the chunk after the other; the next is on its way in registers meanwhile
//        forward  ►  a thread an image and an eighth of its pixels, ten sums; W from scalar registers. The slices' sums are added in
//                    LDS, and what they say of the labels is left there: the residuals
//        backward ►  a thread a word and half of the images, 4 pixels × 10 classes = 40 sums, which stay over all tiles
//   block: 512 threads; grid: chunks; LDS 58,656 bytes with slices' sums and residuals. Where there are no scalar operands a thread
//   has two images, so that an entry of W that is loaded serves twice, and a sixteenth of their pixels.
//   gfx906, hipcc 5.2.3: 122 VGPRs, 2 waves a SIMD, multiply-adds are 90.3 % of the vector instructions forward, with 160 words in
//   scalar loads for 160 of them, and 88.8 % backward, nothing spilt; sm_90a, CUDA 13.0: 128 registers
// Assumes    pixels aligned to 16 bytes
// Measured   H200: 0.119 ms an iteration at 60,000 images, 25 % of the fp32 limit (0.028 ms); gfx906: not run (2026-11-30)
// Versus two products: one idea, each pixel is read from memory once and the residual is not written. That counts where bytes are
//   scarcer than arithmetic: on gfx906 0.053 ms of 0.16 are saved, but they pass beside the arithmetic, and slices of 6 and 7
//   quads and 392 threads of 512 leave more of it idle than that is worth. So two products are used there unless this is forced.
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/label.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kTile = 64;  // images
constexpr int kThreads = 512;
constexpr int kQuads = kPixelWords / 4;  // of an image
constexpr int kTileQuads = kTile * kQuads;
constexpr int kLoads = (kTileQuads + kThreads - 1) / kThreads;  // of a thread
// Forward: a thread has kThreadImages images and a slice of their pixels.
constexpr int kThreadImages = platform::kScalarOperands ? 1 : 2;
constexpr int kColumns = kTile / kThreadImages;
constexpr int kSlices = kThreads / kColumns;
constexpr int kPassClasses = 2;  // whose sums are added at a time
// Backward: a thread has a word and a half of the images.
constexpr int kHalves = 2;
constexpr int kWorkers = kPixelWords * kHalves;
constexpr int kRowFloats = 12;  // a residual's ten, and two for the alignment of vectors
constexpr int kBiasSlices = 32;
static_assert(kWorkers <= kThreads && kBiasSlices * kClasses <= kThreads);

using Words = platform::Four<std::uint32_t>;
using Floats = platform::Four<float>;

struct alignas(16) FusedMemory {
  platform::Shared<std::uint32_t, kTile, kPixelWords> pixels;
  platform::Shared<float, kTile, kRowFloats> rows;  // scores, and then residuals
  platform::Shared<float, kSlices, kPassClasses, kTile> slice_sums;
  platform::Shared<float, kBiasSlices, kClasses> bias_sums;
  BlockSumParts<double, kTile> squared_parts;
  BlockSumParts<std::uint32_t, kTile> correct_parts;
};

// sums += Σ w·x over a slice of the pixels. packed: W pixel by pixel.
__device__ inline void forward(const FusedMemory& memory, const float* packed, int column, int slice,
                               float (&sums)[kClasses][kThreadImages]) {
  const int end = (slice + 1) * kQuads / kSlices;
  for (int quad = slice * kQuads / kSlices; quad < end; ++quad) {
    Words words[kThreadImages];
#pragma unroll
    for (int i = 0; i < kThreadImages; ++i) {
      words[i] = platform::load_four<std::uint32_t>(memory.pixels[i * kColumns + column], 4 * quad);
    }
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      platform::keep_order();  // else the compiler gathers more of W than there are scalar registers
      const Floats* weights = reinterpret_cast<const Floats*>(packed + (4 * quad + w) * 4 * kClasses);
      float four_pixels[4 * kClasses];
#pragma unroll
      for (int k = 0; k < kClasses; ++k) {
        const Floats four = weights[k];
#pragma unroll
        for (int j = 0; j < 4; ++j) four_pixels[4 * k + j] = four.value[j];
      }
#pragma unroll
      for (int b = 0; b < 4; ++b) {
#pragma unroll
        for (int i = 0; i < kThreadImages; ++i) {
          const float pixel = platform::byte_to_float(words[i].value[w], b);
#pragma unroll
          for (int c = 0; c < kClasses; ++c) {
            sums[c][i] = fmaf(four_pixels[b * kClasses + c], pixel, sums[c][i]);
          }
        }
      }
    }
  }
}

// Adds the slices' sums, two classes at a time, and leaves them in rows. All of the block call.
__device__ inline void add_slices(const float (&sums)[kClasses][kThreadImages], int column, int slice,
                                  FusedMemory& memory) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int c = 0; c < kClasses; c += kPassClasses) {
    if (c > 0) __syncthreads();
#pragma unroll
    for (int k = 0; k < kPassClasses; ++k) {
#pragma unroll
      for (int i = 0; i < kThreadImages; ++i) {
        memory.slice_sums[slice][k][i * kColumns + column] = sums[c + k][i];
      }
    }
    __syncthreads();
    if (thread < kPassClasses * kTile) {
      float sum = 0;
#pragma unroll
      for (int other = 0; other < kSlices; ++other) {
        sum += memory.slice_sums[other][thread / kTile][thread % kTile];
      }
      memory.rows[thread % kTile][c + thread / kTile] = sum;
    }
  }
  __syncthreads();
}

// gradient[c][p] += r[c]·x[p] over the thread's images.
__device__ inline void backward(const FusedMemory& memory, int word, int half,
                                float (&gradient)[kClasses][4]) {
#pragma unroll 2
  for (int k = 0; k < kTile / kHalves; ++k) {
    platform::keep_order();
    const int image = half * (kTile / kHalves) + k;
    const std::uint32_t four = memory.pixels[image][word];
    float values[4];
#pragma unroll
    for (int b = 0; b < 4; ++b) values[b] = platform::byte_to_float(four, b);
#pragma unroll
    for (int first = 0; first < kRowFloats; first += 4) {
      const Floats row = platform::load_four<float>(memory.rows[image], first);
#pragma unroll
      for (int c = first; c < min(first + 4, kClasses); ++c) {
#pragma unroll
        for (int b = 0; b < 4; ++b) gradient[c][b] = fmaf(row.value[c - first], values[b], gradient[c][b]);
      }
    }
  }
}

// A tile's pixels on their way: from global memory to registers while the tile before is worked on, then to LDS. Where
// there are no more images, the last words again.
__device__ inline void load_tile(const std::uint32_t* pixels, int images,
                                 std::uint32_t (&flight)[kLoads][4]) {
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    const Words four = reinterpret_cast<const Words*>(pixels)[min(i, images * kQuads - 1)];
#pragma unroll
    for (int j = 0; j < 4; ++j) flight[k][j] = four.value[j];
  }
}
__device__ inline void store_tile(const std::uint32_t (&flight)[kLoads][4], FusedMemory& memory) {
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i < kTileQuads) {
      platform::store_four<std::uint32_t>(memory.pixels[i / kQuads], 4 * (i % kQuads),
                                          {{flight[k][0], flight[k][1], flight[k][2], flight[k][3]}});
    }
  }
}

__global__ __launch_bounds__(kThreads) void pass_2_fused_kernel(
    const std::uint32_t* pixels, const std::uint8_t* labels, int count, int chunk_images,
    const float* __restrict__ packed, float* partial_gradients, PassStatistics* block_statistics) {
  FusedMemory& memory = platform::large_shared<FusedMemory>();
  const int thread = static_cast<int>(threadIdx.x);
  const int chunk = static_cast<int>(blockIdx.x);
  const int first = chunk * chunk_images;
  const int images = min(chunk_images, count - first);
  const std::uint32_t* own_pixels = pixels + std::int64_t{first} * kPixelWords;
  const int column = thread % kColumns;
  const int slice = platform::uniform(thread / kColumns);

  std::uint32_t flight[kLoads][4];
  load_tile(own_pixels, images, flight);
  float gradient[kClasses][4] = {};
  float bias_sum = 0;
  double squared = 0;
  std::uint32_t correct = 0;
  for (int tile = 0; tile < images; tile += kTile) {
    __syncthreads();
    store_tile(flight, memory);
    __syncthreads();
    if (tile + kTile < images) {
      load_tile(own_pixels + (tile + kTile) * kPixelWords, images - tile - kTile, flight);
    }
    float sums[kClasses][kThreadImages] = {};
    forward(memory, packed, column, slice, sums);
    add_slices(sums, column, slice, memory);
    if (thread < kTile) {
      float scores[kClasses];
#pragma unroll
      for (int c = 0; c < kClasses; ++c)
        scores[c] = memory.rows[thread][c] / 255.0f + packed[kPixels * kClasses + c];
      const bool there = tile + thread < images;
      const int label = there ? labels[first + tile + thread] : 0;
      if (there) correct += names_label(scores, label) ? 1 : 0;
#pragma unroll
      for (int c = 0; c < kClasses; ++c) {
        const float residual = there ? scores[c] - (c == label ? 1.0f : 0.0f) : 0.0f;
        squared += static_cast<double>(residual) * residual;
        memory.rows[thread][c] = residual;
      }
#pragma unroll
      for (int c = kClasses; c < kRowFloats; ++c) memory.rows[thread][c] = 0;
    }
    __syncthreads();
    if (thread < kWorkers) backward(memory, thread % kPixelWords, thread / kPixelWords, gradient);
    if (thread < kBiasSlices * kClasses) {
      for (int image = thread / kClasses; image < kTile; image += kBiasSlices) {
        bias_sum += memory.rows[image][thread % kClasses];
      }
    }
  }

  squared = block_sum<kTile>(squared, memory.squared_parts);
  correct = block_sum<kTile>(correct, memory.correct_parts);
  if (thread == 0) block_statistics[chunk] = PassStatistics{squared, correct, 0};
  // The second half's sums go through the place of the pixels, which are done with.
  float* to = partial_gradients + std::int64_t{chunk} * kWeights;
  __syncthreads();
  if (thread >= kPixelWords && thread < kWorkers) {
#pragma unroll
    for (int c = 0; c < kClasses; ++c) {
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        memory.pixels[4 * c + b][thread - kPixelWords] = platform::float_bits(gradient[c][b]);
      }
    }
  }
  if (thread < kBiasSlices * kClasses) memory.bias_sums[thread / kClasses][thread % kClasses] = bias_sum;
  __syncthreads();
  if (thread < kPixelWords) {
#pragma unroll
    for (int c = 0; c < kClasses; ++c) {
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        to[c * kFeatures + 4 * thread + b] =
            gradient[c][b] + platform::float_of_bits(memory.pixels[4 * c + b][thread]);
      }
    }
  } else if (thread < kPixelWords + kClasses) {
    const int c = thread - kPixelWords;
    float sum = 0;
    for (int other = 0; other < kBiasSlices; ++other) sum += memory.bias_sums[other][c];
    to[c * kFeatures + kPixels] = sum;
  }
}

void pass_2_fused(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                  const PassParts& parts) {
  platform::launch_with_large_shared<FusedMemory>(
      pass_2_fused_kernel, dim3(static_cast<unsigned int>(parts.gradient_parts)), dim3(kThreads), stream,
      words_of(images.pixels), images.labels, images.count, parts.chunk_images, weights.packed,
      parts.gradients, parts.statistics);
  hip::check_launch("pass_2_fused");
}

}  // namespace mnistd::gpu::kernels
