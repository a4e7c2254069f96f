// Computes   RᵀX over each chunk of at most 512 images, pixels as bytes (finish_pass divides them by 255), the bias as 1
// Shapes     R n×10, X n×784 bytes and a 1; partial gradients chunks × 10×785
// Tiling
//                  98 columns of two words               block: 98 columns × 5 slices = 490 threads of 512
//     image 0   s0 ►│ t0   t1  …  t97  │                 grid:  chunks
//     image 1   s1 ►│ t98      …  t195 │                 thread: 8 pixels × 10 classes = 80 sums in registers
//        ⋮      s4 ►│ t392     …  t489 │                 LDS:   24,576 bytes of residuals, 15,680 of sums, 1,280 for the bias
//     image 5   s0 ►│ t0       …       │
//   All of a chunk's residuals are staged once, in rows of twelve floats, three 16-byte loads that all lanes of a slice share; then
//   there is no barrier until the end. Pixels go from memory to registers, four images at a time. At the end the slices' sums are
//   added in LDS, a class at a time, in their order.
//   gfx906, hipcc 5.2.3: 111 VGPRs, 2 waves a SIMD, 88.1 % of the hot loop's vector instructions are multiply-adds, nothing spilt;
//   sm_90a, CUDA 13.0: 125 registers
// Assumes    pixels aligned to 16 bytes
// Measured   H200: 0.0399 ms alone at 60,000 images, 35 % of the fp32 limit (0.014 ms); gfx906: not run (2026-11-30). There a byte
//   costs two or three instructions to convert, and 62 % of the loop's are multiply-adds.
// Versus the previous variant: one idea, a block of the result twice as large, 8×10, in registers: 3 loads of residuals and 1 of
//   pixels for 80 multiplications, where it was 10 and 1 for 40. And of the lanes 96 % have work, on a wavefront of 64 too.
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kColumns = kPixelWords / 2;  // of two words each
constexpr int kSlices = 5;
constexpr int kThreads = 512;
constexpr int kWorkers = kColumns * kSlices;
constexpr int kRowFloats = 12;  // a residual's ten, and two for the alignment of vectors
constexpr int kBatch = 4;       // images whose pixels are loaded at once
constexpr int kBiasSlices = 32;
static_assert(kWorkers <= kThreads && kBiasSlices * kClasses <= kThreads);

struct alignas(8) TwoWords {
  std::uint32_t word[2];
};
using ResidualRows = platform::Shared<float, kChunkImages, kRowFloats>;
using SliceSums = platform::Shared<float, kSlices, kPixels>;
using BiasSums = platform::Shared<float, kBiasSlices, kClasses>;

// sums[c][p] += r[c]·x[p] of one image.
__device__ inline void add_image(const ResidualRows& rows, int image, const TwoWords& words,
                                 float (&sums)[kClasses][8]) {
  platform::keep_order();
  float values[8];
#pragma unroll
  for (int p = 0; p < 8; ++p) values[p] = platform::byte_to_float(words.word[p / 4], p % 4);
#pragma unroll
  for (int k = 0; k < kRowFloats; k += 4) {
    const platform::Four<float> four = platform::load_four<float>(rows[image], k);
#pragma unroll
    for (int c = k; c < min(k + 4, kClasses); ++c) {
#pragma unroll
      for (int p = 0; p < 8; ++p) sums[c][p] = fmaf(four.value[c - k], values[p], sums[c][p]);
    }
  }
}

__global__ __launch_bounds__(kThreads) void gradient_3_registers_kernel(const std::uint32_t* pixels,
                                                                        const float* residual, int count,
                                                                        int chunk_images,
                                                                        float* partial_gradients) {
  __shared__ ResidualRows rows alignas(16);
  __shared__ SliceSums slice_sums;
  __shared__ BiasSums bias_sums;

  const int thread = static_cast<int>(threadIdx.x);
  const int chunk = static_cast<int>(blockIdx.x);
  const int first = chunk * chunk_images;
  const int images = min(chunk_images, count - first);
  const float* own_residual = residual + std::int64_t{first} * kClasses;
  for (int i = thread; i < images * kRowFloats; i += kThreads) {
    const int c = i % kRowFloats;
    rows[i / kRowFloats][c] = c < kClasses ? own_residual[i / kRowFloats * kClasses + c] : 0.0f;
  }
  __syncthreads();

  const int column = thread % kColumns;
  const int slice = thread / kColumns;
  float sums[kClasses][8] = {};
  if (thread < kWorkers) {
    const TwoWords* own =
        reinterpret_cast<const TwoWords*>(pixels + (std::int64_t{first} + slice) * kPixelWords) + column;
    int image = slice;
    for (; image + (kBatch - 1) * kSlices < images; image += kBatch * kSlices) {
      TwoWords words[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) words[k] = own[k * kSlices * kColumns];
      own += kBatch * kSlices * kColumns;
#pragma unroll
      for (int k = 0; k < kBatch; ++k) add_image(rows, image + k * kSlices, words[k], sums);
    }
    for (; image < images; image += kSlices) {
      add_image(rows, image, *own, sums);
      own += kSlices * kColumns;
    }
  }

  float* gradient = partial_gradients + std::int64_t{chunk} * kWeights;
#pragma unroll
  for (int c = 0; c < kClasses; ++c) {
    if (c > 0) __syncthreads();
    if (thread < kWorkers) {
#pragma unroll
      for (int p = 0; p < 8; ++p) slice_sums[slice][p * kColumns + column] = sums[c][p];
    }
    __syncthreads();
    for (int i = thread; i < kPixels; i += kThreads) {
      const int at = i % 8 * kColumns + i / 8;
      float sum = 0;
#pragma unroll
      for (int other = 0; other < kSlices; ++other) sum += slice_sums[other][at];
      gradient[c * kFeatures + i] = sum;
    }
  }

  if (thread < kBiasSlices * kClasses) {
    float sum = 0;
    for (int image = thread / kClasses; image < images; image += kBiasSlices)
      sum += rows[image][thread % kClasses];
    bias_sums[thread / kClasses][thread % kClasses] = sum;
  }
  __syncthreads();
  if (thread < kClasses) {
    float sum = 0;
    for (int other = 0; other < kBiasSlices; ++other) sum += bias_sums[other][thread];
    gradient[thread * kFeatures + kPixels] = sum;
  }
}

void gradient_3_registers(hipStream_t stream, const LabelledImages& images, const float* residual,
                          int chunk_images, float* partial_gradients) {
  hipLaunchKernelGGL(gradient_3_registers_kernel, dim3(parts_of(images.count, chunk_images)), dim3(kThreads),
                     0, stream, words_of(images.pixels), residual, images.count, chunk_images,
                     partial_gradients);
  hip::check_launch("gradient_3_registers");
}

}  // namespace mnistd::gpu::kernels
