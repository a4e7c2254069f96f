// Computes   R = W Xᵀ − Y and RᵀX over each chunk of at most 512 images, pixels as bytes (finish_pass divides them by 255), the
//            bias as 1; a chunk's part of ‖R‖²_F and of the number of images classified right
// Shapes     X n×784 bytes and a 1, W 10×785, labels n; partial gradients chunks × 10×785
// Tiling     both factors that are not bytes, W and R, as three digits to the base 256 (digits.h): 30 rows of signed bytes
//                            forward                                      backward
//     A      digits of W, 32 rows × 784 pixels              digits of R, 32 rows × images
//     B      pixels as they lie in memory, × 8 images       pixels, four images' bytes turned into a word, × 8 words' pixels
//     D      exact sums, in lanes that have all digits      exact sums over the whole tile
//   block: 512 threads, 16 wavefronts of 32; grid: chunks. A tile is up to 240 images, 188,160 bytes of LDS. Forward a wavefront has 16
//   images, whose pixels go from memory to registers, three strides of 64 bytes ahead, and from there both into the product and
//   into LDS. The largest residual of each class is found by integer atomics in LDS, which any order leaves the same; it is the
//   unit of the digits. Backward a wavefront has one or two groups of eight words over all images. The next tile's lines are
//   fetched into the second-level cache meanwhile. LDS 223,800 bytes in all; sm_90a, CUDA 13.0: 128 registers, one of them spilt
// Assumes    pixels aligned to 16 bytes; a wavefront of 32 lanes that multiplies matrices of bytes
// Measured   H200: 0.0441 ms an iteration at 60,000 images, where fp32 multiply-adds need 0.0296 at the least; 3.28 ms at 6 million,
//   0.033 for each 60,000 of them (2026-11-30). Writing entries of the gradient from where they are summed took 0.0500. Bound by
//   waiting: it issued then in 22 % of the cycles, memory worked at 21 %
// Versus fp32: one idea, a pixel has 8 bits and tensor cores multiply bytes thirty times as fast as the other cores multiply
//   floats. Rounding is that of the digits alone, 2⁻²⁴ of the largest entry of a class: a gradient is 7e-8 off
//   float64, relative, where one by fp32 multiply-adds is 3e-8 off, and ‖R‖² is 1e-8 off where that one is 2e-8.
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/digits.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

using namespace digits;

constexpr int kThreads = 512;
constexpr int kWavefronts = kThreads / kLanes;
constexpr int kColumns = 2;                        // of eight images, a wavefront's share of a tile
constexpr int kShare = 8 * kColumns;               // images
constexpr int kTile = kShare * (kWavefronts - 1);  // images, at most: what 227 KB hold beside the rest
constexpr int kSteps = (kTile + 31) / 32;          // of 32 images, backward
constexpr int kStrides = 13;                       // of 16 words, forward; the last has four
constexpr int kAhead = 3;                          // strides on their way
constexpr int kGroups = 25;                        // of eight words, backward; the last has four
constexpr int kThreadGroups = 2;
constexpr int kLaneWords = (kPixelWords + kLanes - 1) / kLanes;
static_assert(kThreadGroups * kWavefronts >= kGroups && kClasses <= kWavefronts);

using Words = platform::Four<std::uint32_t>;

struct alignas(16) DigitsMemory {
  platform::Shared<std::uint32_t, kTile * kPixelWords> pixels;
  platform::Shared<std::uint32_t, kStrides, 2, 2, kLanes, 4> weight_digits;
  platform::Shared<std::uint32_t, kSteps, 2, kLanes, 4> residual_digits;
  platform::Shared<float, kClasses> weight_units;
  platform::Shared<std::uint32_t, 2, kClasses>
      largest;  // of the residuals, as bits; of this tile and of the next
  platform::Shared<float, kWavefronts, kClasses> bias_sums;
  BlockSumParts<double, kThreads> squared_parts;
  BlockSumParts<std::uint32_t, kThreads> correct_parts;
};

// Lane 4·row + quarter of a wavefront. Row r has class r, and where it is one of the first six, a digit of class 8 or 9.
struct Place {
  int thread, wavefront, lane, row, quarter;
  int split_class, split_digit;
};

__device__ inline Place place_of_thread() {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kLanes;
  const int row = lane / 4;
  return {thread, thread / kLanes, lane, row, lane % 4, kSplitClass + row / kDigits, row % kDigits};
}

// Which of a wavefront's 16 images stands in column `column` of its eight-image tile q. The order keeps a quarter of a wavefront
// in different banks forward, where neighbouring columns are read in 64 bytes each, and a whole one backward, where every
// second column is read in 32.
__device__ inline int image_of(int q, int column) {
  const int odd = column % 2;
  return q + 8 * odd + (column - odd + 4 * odd) % 8;
}

// The digits of W, in the order in which the lanes of multiply_signed_bytes want them: a wavefront a class.
__device__ inline void prepare_weights(const float* weights, const Place& at, DigitsMemory& memory) {
  const int c = min(at.wavefront, kClasses - 1);
  const float* row = weights + c * kFeatures;
  float entries[kLaneWords][4];
  std::uint32_t largest = 0;
#pragma unroll
  for (int k = 0; k < kLaneWords; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      entries[k][i] = row[4 * min(k * kLanes + at.lane, kPixelWords - 1) + i];
      largest = max(largest, magnitude_bits(entries[k][i]));
    }
  }
  for (int i = at.thread; i < kStrides * 4 * kLanes; i += kThreads) {
    platform::store_four<std::uint32_t>(
        memory.weight_digits[i / (4 * kLanes)][i / (2 * kLanes) % 2][i / kLanes % 2][i % kLanes], 0, {});
  }
  if (at.thread < kClasses) memory.largest[0][at.thread] = 0;
  __syncthreads();
  const Unit unit = unit_of(largest_of_lanes(largest));
  if (at.wavefront >= kClasses) return;
  if (at.lane == 0) memory.weight_units[c] = unit.value;
#pragma unroll
  for (int k = 0; k < kLaneWords; ++k) {
    const int word = k * kLanes + at.lane;
    if (word >= kPixelWords) break;
    std::uint32_t words[kDigits];
    digits_of(entries[k], unit, words);
#pragma unroll
    for (int d = 0; d < kDigits; ++d) {
      const int digit_row = row_of(c, d);
      memory.weight_digits[word / 16][word % 4 / 2][digit_row / 16][digit_row % 8 * 4 + word % 16 / 4]
                          [word % 2 * 2 + digit_row % 16 / 8] = words[d];
    }
  }
}

// Has the tile's pixels brought into the second-level cache while other work is done. images: may be 0 or less.
__device__ inline void fetch_tile(const std::uint32_t* pixels, int images, const Place& at) {
  constexpr int kLineWords = 32;
  for (int i = at.thread * kLineWords; i < images * kPixelWords; i += kThreads * kLineWords) {
    platform::fetch(pixels + i);
  }
}

// What a lane knows of its images: of the class of its row, and of the one of which it has a digit.
struct Scores {
  float own[kColumns][2];
  float split[kColumns][2];  // in lanes of the first six rows
};

// The scores of the wavefront's images, whose pixels go from global memory to LDS on the way. pixels: of the tile's first
// image; images: of the tile.
__device__ inline void forward(const std::uint32_t* pixels, int images, const Place& at, float own_bias,
                               float split_bias, Scores& scores, DigitsMemory& memory) {
  const Words* from[kColumns];
  int to[kColumns];
#pragma unroll
  for (int q = 0; q < kColumns; ++q) {
    const int image = at.wavefront * kShare + image_of(q, at.row);
    from[q] = reinterpret_cast<const Words*>(pixels + min(image, images - 1) * kPixelWords);
    to[q] = image * kPixelWords;
  }
  // Words past an image's last are its last again: they meet digits that are zero.
  const auto quad_of = [&at](int stride) { return min(4 * stride + at.quarter, kPixelWords / 4 - 1); };
  Words flight[kAhead][kColumns];
#pragma unroll
  for (int stride = 0; stride < kAhead; ++stride) {
#pragma unroll
    for (int q = 0; q < kColumns; ++q) flight[stride][q] = from[q][quad_of(stride)];
  }
  int sums[kColumns][2][4] = {};
#pragma unroll
  for (int stride = 0; stride < kStrides; ++stride) {
    Words now[kColumns];
#pragma unroll
    for (int q = 0; q < kColumns; ++q) {
      now[q] = flight[stride % kAhead][q];
      if (stride + kAhead < kStrides) flight[stride % kAhead][q] = from[q][quad_of(stride + kAhead)];
      platform::store_four<std::uint32_t>(memory.pixels, to[q] + 4 * quad_of(stride), now[q]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const Words left =
            platform::load_four<std::uint32_t>(memory.weight_digits[stride][half][m][at.lane], 0);
#pragma unroll
        for (int q = 0; q < kColumns; ++q) {
          const std::uint32_t right[2] = {now[q].value[2 * half], now[q].value[2 * half + 1]};
          platform::multiply_signed_bytes(left.value, right, sums[q][m]);
        }
      }
    }
  }

  const float own_unit = memory.weight_units[at.row] / 255.0f;
  const float split_unit = memory.weight_units[min(at.split_class, kClasses - 1)] / 255.0f;
  const float split_weight = at.split_digit == 0 ? 1.0f : at.split_digit == 1 ? 256.0f : 65536.0f;
#pragma unroll
  for (int q = 0; q < kColumns; ++q) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float own =
          fmaf(fmaf(static_cast<float>(sums[q][1][e]), 256.0f, static_cast<float>(sums[q][0][2 + e])), 256.0f,
               static_cast<float>(sums[q][0][e]));
      scores.own[q][e] = fmaf(own_unit, own, own_bias);
      const float part = split_weight * static_cast<float>(sums[q][1][2 + e]);
      const float split =
          __shfl_down(part, 8) + (__shfl_down(part, 4) + part);  // right in the row of digit 0
      scores.split[q][e] =
          fmaf(split_unit, __shfl(split, (at.row - at.split_digit) * 4 + at.quarter), split_bias);
    }
  }
}

// What a lane adds up over all tiles.
struct Totals {
  double squared = 0;
  std::uint32_t correct = 0;
  float own_bias = 0;    // gradient of
  float split_bias = 0;  // in the row of digit 0
};

// Turns scores into residuals and counts. labels: of the lane's images, −1 where there is none. All lanes call.
__device__ inline void subtract_labels(const Place& at, const int (&labels)[kColumns][2], Scores& scores,
                                       Totals& totals) {
  const bool counts_split = at.split_digit == 0 && at.split_class < kClasses;
  float squared = 0;
#pragma unroll
  for (int q = 0; q < kColumns; ++q) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int label = labels[q][e];
      const int known = max(label, 0);
      // The label's score, from the row that has it; then whether every class of the lane is below it, as names_label says.
      const float among_own = __shfl(scores.own[q][e], known % kSplitClass * 4 + at.quarter);
      const float among_split =
          __shfl(scores.split[q][e], max(known - kSplitClass, 0) * kDigits * 4 + at.quarter);
      const float named = known < kSplitClass ? among_own : among_split;
      const float own = scores.own[q][e];
      const float split = scores.split[q][e];
      const bool own_below = at.row < known ? named > own : named >= own;
      const bool split_below = at.split_class < known ? named > split : named >= split;
      const bool below = own_below && (split_below || !counts_split);
      const auto column = std::uint64_t{0x11111111} << at.quarter;
      const std::uint64_t all = __ballot(below);
      if (at.row == 0 && label >= 0 && (all & column) == column) ++totals.correct;

      scores.own[q][e] = label < 0 ? 0.0f : own - (label == at.row ? 1.0f : 0.0f);
      scores.split[q][e] = label < 0 ? 0.0f : split - (label == at.split_class ? 1.0f : 0.0f);
      squared = fmaf(scores.own[q][e], scores.own[q][e], squared);
      if (counts_split) squared = fmaf(scores.split[q][e], scores.split[q][e], squared);
      totals.own_bias += scores.own[q][e];
      totals.split_bias += scores.split[q][e];
    }
  }
  totals.squared += static_cast<double>(squared);
}

// The largest residual of each class over the whole block: integers, so that any order gives the same.
__device__ inline void find_largest(const Place& at, const Scores& residuals, int parity,
                                    DigitsMemory& memory) {
  std::uint32_t own = 0;
  std::uint32_t split = 0;
#pragma unroll
  for (int q = 0; q < kColumns; ++q) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      own = max(own, magnitude_bits(residuals.own[q][e]));
      split = max(split, magnitude_bits(residuals.split[q][e]));
    }
  }
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    own = max(own, __shfl_xor(own, distance));
    split = max(split, __shfl_xor(split, distance));
  }
  if (at.quarter > 0) return;
  atomicMax(&memory.largest[parity][at.row], own);
  if (at.split_digit == 0 && at.split_class < kClasses)
    atomicMax(&memory.largest[parity][at.split_class], split);
}

// The residuals' digits, as the backward product wants them: a wavefront's images are half of a step.
__device__ inline void write_digits(const Place& at, const Scores& residuals, int parity,
                                    DigitsMemory& memory) {
  const bool splits = at.split_class < kClasses;
  const float own[4] = {residuals.own[0][0], residuals.own[0][1], residuals.own[1][0], residuals.own[1][1]};
  const float split[4] = {residuals.split[0][0], residuals.split[0][1], residuals.split[1][0],
                          residuals.split[1][1]};
  std::uint32_t own_words[kDigits];
  digits_of(own, unit_of(memory.largest[parity][at.row]), own_words);
  std::uint32_t split_words[kDigits];
  digits_of(split, unit_of(memory.largest[parity][min(at.split_class, kClasses - 1)]), split_words);
  const std::uint32_t split_word = at.split_digit == 0   ? split_words[0]
                                   : at.split_digit == 1 ? split_words[1]
                                                         : split_words[2];
  const int step = at.wavefront / 2;
  const int half = at.wavefront % 2 * 2;
  memory.residual_digits[step][0][at.lane][half] = own_words[0];
  memory.residual_digits[step][0][at.lane][half + 1] = own_words[1];
  memory.residual_digits[step][1][at.lane][half] = own_words[2];
  memory.residual_digits[step][1][at.lane][half + 1] = splits ? split_word : 0;
}

// Turns four words, of four images, into four, of four pixels.
__device__ inline void transpose(const std::uint32_t (&in)[4], std::uint32_t (&out)[4]) {
  const std::uint32_t low01 = platform::permute_bytes<0x5140>(in[0], in[1]);
  const std::uint32_t high01 = platform::permute_bytes<0x7362>(in[0], in[1]);
  const std::uint32_t low23 = platform::permute_bytes<0x5140>(in[2], in[3]);
  const std::uint32_t high23 = platform::permute_bytes<0x7362>(in[2], in[3]);
  out[0] = platform::permute_bytes<0x5410>(low01, low23);
  out[1] = platform::permute_bytes<0x7632>(low01, low23);
  out[2] = platform::permute_bytes<0x5410>(high01, high23);
  out[3] = platform::permute_bytes<0x7632>(high01, high23);
}

// The gradient of a wavefront's groups of words, in float over the chunk.
struct GroupSums {
  float own[4][2];
  float split[4][2];
};

__device__ inline void backward(const Place& at, int images, int parity, GroupSums (&sums)[kThreadGroups],
                                const DigitsMemory& memory) {
  const int steps = (images + 31) / 32;
  const int last_share = (images - 1) / kShare * kShare;
  const float own_unit = unit_of(memory.largest[parity][at.row]).value;
  const float split_weight = at.split_digit == 0 ? 1.0f : at.split_digit == 1 ? 256.0f : 65536.0f;
  const float split_unit =
      at.split_class < kClasses
          ? split_weight * unit_of(memory.largest[parity][min(at.split_class, kClasses - 1)]).value
          : 0.0f;
#pragma unroll
  for (int k = 0; k < kThreadGroups; ++k) {
    const int group = k * kWavefronts + at.wavefront;
    if (group < kGroups) {
      const int word =
          min(8 * group + at.row, kPixelWords - 1);  // the last group's spare rows are not written
      int products[4][2][4] = {};
#pragma unroll 2
      for (int step = 0; step < steps; ++step) {
        std::uint32_t right[4][2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          // A half that no wavefront had images for has digits that are zero, and takes the pixels of another.
          const int share = min(step * 32 + half * kShare, last_share);
          std::uint32_t in[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int image = share + image_of(i / 2, 2 * at.quarter + i % 2);
            in[i] = memory.pixels[image * kPixelWords + word];
          }
          std::uint32_t out[4];
          transpose(in, out);
#pragma unroll
          for (int j = 0; j < 4; ++j) right[j][half] = out[j];
        }
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const Words left = platform::load_four<std::uint32_t>(memory.residual_digits[step][m][at.lane], 0);
#pragma unroll
          for (int j = 0; j < 4; ++j) platform::multiply_signed_bytes(left.value, right[j], products[j][m]);
        }
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float total = fmaf(
              fmaf(static_cast<float>(products[j][1][e]), 256.0f, static_cast<float>(products[j][0][2 + e])),
              256.0f, static_cast<float>(products[j][0][e]));
          sums[k].own[j][e] = fmaf(own_unit, total, sums[k].own[j][e]);
          sums[k].split[j][e] =
              fmaf(split_unit, static_cast<float>(products[j][1][2 + e]), sums[k].split[j][e]);
        }
      }
    }
  }
}

// By way of the pixels' place in LDS, so that neighbouring lanes write neighbouring entries: from where they are summed, each
// would touch 32 bytes of its own. All of the block call, behind a barrier.
__device__ inline void write_gradient(const Place& at, const GroupSums (&sums)[kThreadGroups],
                                      float* gradient, DigitsMemory& memory) {
  static_assert(kClasses * kPixels <= kTile * kPixelWords);
#pragma unroll
  for (int k = 0; k < kThreadGroups; ++k) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int word = 8 * (k * kWavefronts + at.wavefront) + 2 * at.quarter + e;
      std::uint32_t own[4];
      std::uint32_t split[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float part = sums[k].split[j][e];
        split[j] = platform::float_bits(__shfl_down(part, 8) + (__shfl_down(part, 4) + part));
        own[j] = platform::float_bits(sums[k].own[j][e]);
      }
      if (word < kPixelWords) {
        platform::store_four<std::uint32_t>(memory.pixels, at.row * kPixels + 4 * word,
                                            {{own[0], own[1], own[2], own[3]}});
        if (at.split_digit == 0 && at.split_class < kClasses) {
          platform::store_four<std::uint32_t>(memory.pixels, at.split_class * kPixels + 4 * word,
                                              {{split[0], split[1], split[2], split[3]}});
        }
      }
    }
  }
  __syncthreads();
  for (int i = at.thread; i < kClasses * kPixels; i += kThreads) {
    gradient[i / kPixels * kFeatures + i % kPixels] = platform::float_of_bits(memory.pixels[i]);
  }
}

// The bias's entries: the residuals added up, over a wavefront's quarters and then over the wavefronts.
__device__ inline void write_bias(const Place& at, const Totals& totals, float* gradient,
                                  DigitsMemory& memory) {
  float own = totals.own_bias;
  float split = totals.split_bias;
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    own += __shfl_xor(own, distance);
    split += __shfl_xor(split, distance);
  }
  if (at.quarter == 0) {
    memory.bias_sums[at.wavefront][at.row] = own;
    if (at.split_digit == 0 && at.split_class < kClasses)
      memory.bias_sums[at.wavefront][at.split_class] = split;
  }
  __syncthreads();
  if (at.thread < kClasses) {
    float sum = 0;
    for (int other = 0; other < kWavefronts; ++other) sum += memory.bias_sums[other][at.thread];
    gradient[at.thread * kFeatures + kPixels] = sum;
  }
}

__global__ __launch_bounds__(kThreads, 1) void pass_3_digits_kernel(const std::uint32_t* pixels,
                                                                    const std::uint8_t* labels, int count,
                                                                    int chunk_images, const float* weights,
                                                                    float* partial_gradients,
                                                                    PassStatistics* block_statistics) {
  DigitsMemory& memory = platform::large_shared<DigitsMemory>();
  const Place at = place_of_thread();
  const int chunk = static_cast<int>(blockIdx.x);
  const int first = chunk * chunk_images;
  const int images_of_chunk = min(chunk_images, count - first);
  // Tiles of about the same size.
  const int tiles = (images_of_chunk - 1) / kTile + 1;
  const int tile_images = ((images_of_chunk - 1) / tiles / kShare + 1) * kShare;
  const float own_bias = weights[at.row * kFeatures + kPixels];
  const float split_bias = weights[min(at.split_class, kClasses - 1) * kFeatures + kPixels];
  const auto fetch = [&](int start) {
    fetch_tile(pixels + (std::int64_t{first} + start) * kPixelWords,
               min(tile_images, images_of_chunk - start), at);
  };
  fetch(0);
  prepare_weights(weights, at, memory);
  __syncthreads();

  GroupSums sums[kThreadGroups] = {};
  Totals totals;
  int parity = 0;
  for (int start = 0; start < images_of_chunk; start += tile_images) {
    const int images = min(tile_images, images_of_chunk - start);
    const std::int64_t tile_first = std::int64_t{first} + start;
    int image_labels[kColumns][2];
#pragma unroll
    for (int q = 0; q < kColumns; ++q) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int image = at.wavefront * kShare + image_of(q, 2 * at.quarter + e);
        image_labels[q][e] = image < images ? labels[tile_first + image] : -1;
      }
    }
    Scores scores = {};
    if (at.wavefront * kShare < images) {
      forward(pixels + tile_first * kPixelWords, images, at, own_bias, split_bias, scores, memory);
    }
    subtract_labels(at, image_labels, scores, totals);
    find_largest(at, scores, parity, memory);
    __syncthreads();
    write_digits(at, scores, parity, memory);
    __syncthreads();
    if (at.thread < kClasses) memory.largest[1 - parity][at.thread] = 0;
    fetch(start + tile_images);
    backward(at, images, parity, sums, memory);
    parity = 1 - parity;
    __syncthreads();
  }

  float* gradient = partial_gradients + std::int64_t{chunk} * kWeights;
  write_gradient(at, sums, gradient, memory);
  write_bias(at, totals, gradient, memory);
  totals.squared = block_sum<kThreads>(totals.squared, memory.squared_parts);
  totals.correct = block_sum<kThreads>(totals.correct, memory.correct_parts);
  if (at.thread == 0) block_statistics[chunk] = PassStatistics{totals.squared, totals.correct, 0};
}

void pass_3_digits(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                   const PassParts& parts) {
  platform::launch_with_large_shared<DigitsMemory>(
      pass_3_digits_kernel, dim3(static_cast<unsigned int>(parts.gradient_parts)), dim3(kThreads), stream,
      words_of(images.pixels), images.labels, images.count, parts.chunk_images, weights.rows, parts.gradients,
      parts.statistics);
  hip::check_launch("pass_3_digits");
}

}  // namespace mnistd::gpu::kernels
