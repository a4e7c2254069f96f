// How the exact products of 784 pixels over all images are cut into work for blocks, and how bytes come into LDS. Shared by
// gram_2_dot4 and gram_3_matrix, which differ in how they multiply.
//
//        columns 0  112  224  …  672           Only tiles on and below the diagonal are computed: 21 below, 7 on it.
//     rows 0  ┌────┐                           A step of work is some images of one tile. Laid end to end, tile after tile,
//        112  │ 21 │ 22 │        tile          the steps make a line, which is cut into as many equal pieces as the
//        224  │  0 │    │ 23 │   numbers       device runs blocks at once: no block waits for another, whatever n is. A
//          ⋮  │  1 │  2 │    │ ⋱               step of a tile below the diagonal is 7 units of the line, one on it 6:
//        672  │ 15 │  …           27           what a block spends on it.
//             └────┘
//   A piece may end one tile and begin the next; sums leave registers at each such place, and after 65,536 images at the
//   latest: 255²·65,536 < 2³². They are added in memory by 64-bit integer atomic operations: exact in any order.
//
//   Transposing. A word of an image is four pixels; a product of bytes wants a word that is one pixel of four images. A
//   thread loads the same word of four images and permutes the 4×4 bytes, eight instructions, on the way to LDS:
//   tile[group of four images][pixel]. Rows are 120 words apart, 24 banks: four groups × eight pixels fall into 32 banks.
//
//   Labels ride along with the tiles on the diagonal, as 16 more rows whose bytes are 0 or 1: rows 0 to 9 are the one-hot
//   labels, which give the class sums, row 10 is 1 for each image, which gives the bias's products, the rest is zero.
#pragma once

#include <cstdint>

#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

// What all blocks are told. products and class_sums are zero before.
struct GramArguments {
  const std::uint32_t* pixels;  // words
  const std::uint8_t* labels;
  int count;
  int steps;      // of a tile
  int piece;      // units of the line that a block computes
  int sum_steps;  // after so many, sums go to memory
  unsigned long long* products;
  unsigned long long* class_sums;
};

// Steps begin to end − 1 of a tile, which one block computes and then adds to memory.
struct GramSegment {
  int tile = 0;
  int row = 0;  // of tiles
  int column = 0;
  int begin = 0;
  int end = 0;
};

__device__ inline void add_to(unsigned long long* entry, std::uint32_t sum) {
  atomicAdd(entry, static_cast<unsigned long long>(sum));
}

// For blocks of so many threads, and steps of so many images.
template <int kTileThreads, int kImages>
struct GramTiles {
  static constexpr int kThreads = kTileThreads;
  static constexpr int kStepImages = kImages;
  static constexpr int kSide = 112;  // pixels of a tile
  static constexpr int kSideWords = kSide / 4;
  static constexpr int kTilesASide = kPixels / kSide;
  static constexpr int kBelow = kTilesASide * (kTilesASide - 1) / 2;  // tiles below the diagonal
  static constexpr int kTiles = kBelow + kTilesASide;
  static constexpr int kBelowCost = 7;
  static constexpr int kDiagonalCost = 6;
  static constexpr int kGroups = kStepImages / 4;
  static constexpr int kRowWords = 120;
  static constexpr int kLabelRows = 16;
  static constexpr int kOnesRow = kClasses;
  static_assert(kPixels % kSide == 0 && kSide % 16 == 0 && kGroups * kLabelRows == kThreads);
  static_assert(std::uint64_t{255} * 255 * GramLimits{}.images_a_sum < std::uint64_t{1} << 32);

  using Tile = platform::Shared<std::uint32_t, kGroups, kRowWords>;
  using LabelTile = platform::Shared<std::uint32_t, kGroups, kLabelRows + 8>;

  // Puts zeros into the results, in the order of the stream.
  static GramArguments arguments(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                                 std::uint64_t* class_sums, const GramLimits& limits, int blocks) {
    const int steps = static_cast<int>(parts_of(images.count, kStepImages));
    const int line = steps * (kBelowCost * kBelow + kDiagonalCost * kTilesASide);
    MNISTD_HIP_CHECK(hipMemsetAsync(products, 0, sizeof(std::uint64_t) * kFeatures * kFeatures, stream));
    MNISTD_HIP_CHECK(hipMemsetAsync(class_sums, 0, sizeof(std::uint64_t) * kWeights, stream));
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    return {words_of(images.pixels),
            images.labels,
            images.count,
            steps,
            static_cast<int>(parts_of(line, blocks)),
            limits.images_a_sum / kStepImages,
            reinterpret_cast<unsigned long long*>(products),
            reinterpret_cast<unsigned long long*>(class_sums)};
  }

  // The first step of tile `number` that begins at or behind the start of piece `piece` of the line. In 32 bits and divided
  // by constants only, which AMD's scalar units can do: 592 GB of images fit.
  __device__ static int first_step(const GramArguments& given, int number, int piece) {
    const int before =
        given.steps *
        (number < kBelow ? kBelowCost * number : kBelowCost * kBelow + kDiagonalCost * (number - kBelow));
    const int units = max(given.piece * piece - before, 0);
    const int step =
        number < kBelow ? (units + kBelowCost - 1) / kBelowCost : (units + kDiagonalCost - 1) / kDiagonalCost;
    return min(step, given.steps);
  }

  // Goes on to the block's next segment, from {}; false if there is none.
  __device__ static bool next(const GramArguments& given, GramSegment& segment) {
    for (; segment.tile < kTiles; ++segment.tile) {
      segment.begin = max(first_step(given, segment.tile, static_cast<int>(blockIdx.x)), segment.end);
      const int end = first_step(given, segment.tile, static_cast<int>(blockIdx.x) + 1);
      if (segment.begin < end) {
        segment.end = min(end, segment.begin + given.sum_steps);
        break;
      }
      segment.end = 0;
    }
    segment.row = segment.tile - kBelow;
    segment.column = segment.tile - kBelow;
    if (segment.tile < kBelow) {
      segment.row = 1;
      segment.column = segment.tile;
      while (segment.column >= segment.row) segment.column -= segment.row++;
    }
    return segment.tile < kTiles;
  }

  // Where the words of a step and side (which 112 pixels) begin: an address that the compiler sees to be uniform.
  __device__ static const std::uint32_t* words_of_step(const GramArguments& given, int side, int step) {
    return given.pixels + std::int64_t{step} * (kStepImages * kPixelWords) + side * kSideWords;
  }

  // A unit is one word of a group's four images: unit / 28 is the group, unit mod 28 the word.
  static constexpr int kUnits = kGroups * kSideWords;

  __device__ static void store_unit(const std::uint32_t (&w)[4], int unit, Tile& tile) {
    // Bytes 0 and 1, then 2 and 3, of images 0 and 1, then 2 and 3.
    const std::uint32_t low01 = platform::permute_bytes<0x5140>(w[0], w[1]);
    const std::uint32_t high01 = platform::permute_bytes<0x7362>(w[0], w[1]);
    const std::uint32_t low23 = platform::permute_bytes<0x5140>(w[2], w[3]);
    const std::uint32_t high23 = platform::permute_bytes<0x7362>(w[2], w[3]);
    const std::uint32_t pixels[4] = {
        platform::permute_bytes<0x5410>(low01, low23), platform::permute_bytes<0x7632>(low01, low23),
        platform::permute_bytes<0x5410>(high01, high23), platform::permute_bytes<0x7632>(high01, high23)};
    platform::store_four(tile[unit / kSideWords], unit % kSideWords * 4, pixels);
  }

  // A thread's units of a step whose images are all there, on their way from memory to LDS.
  static constexpr int kEach = (kUnits + kThreads - 1) / kThreads;
  struct Words {
    std::uint32_t words[kEach][4];
  };

  __device__ static void load(const GramArguments& given, int side, int step, Words& loaded) {
    const std::uint32_t* const words = words_of_step(given, side, step);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int unit = k * kThreads + static_cast<int>(threadIdx.x);
      if (unit >= kUnits) break;
      const std::uint32_t* const word = words + (unit / kSideWords * 4 * kPixelWords + unit % kSideWords);
#pragma unroll
      for (int m = 0; m < 4; ++m) loaded.words[k][m] = word[m * kPixelWords];
    }
  }

  __device__ static void store(const Words& loaded, Tile& tile) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int unit = k * kThreads + static_cast<int>(threadIdx.x);
      if (unit < kUnits) store_unit(loaded.words[k], unit, tile);
    }
  }

  // From memory to LDS at once, of the last step: images past the last are zero.
  __device__ static void copy_last(const GramArguments& given, int side, int step, Tile& tile) {
    const std::uint32_t* const words = words_of_step(given, side, step);
    const int images = given.count - step * kStepImages;
#pragma unroll 1
    for (int unit = static_cast<int>(threadIdx.x); unit < kUnits; unit += kThreads) {
      const int image = unit / kSideWords * 4;
      std::uint32_t four[4];
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        four[m] = image + m < images ? words[(image + m) * kPixelWords + unit % kSideWords] : 0u;
      }
      store_unit(four, unit, tile);
    }
  }

  // The thread's word of the label rows of a step: row thread mod 16 of group thread / 16. kWhole: all its images are there.
  // The labels are loaded first and at once: what is loaded only if a comparison says so waits for memory each time.
  template <bool kWhole>
  __device__ static std::uint32_t label_word(const GramArguments& given, int step) {
    const int row = static_cast<int>(threadIdx.x) % kLabelRows;
    const int first = static_cast<int>(threadIdx.x) / kLabelRows * 4;
    const std::uint8_t* const labels = given.labels + std::int64_t{step} * kStepImages;
    const int images = given.count - step * kStepImages;
    int found[4];
#pragma unroll
    for (int m = 0; m < 4; ++m) found[m] = kWhole || first + m < images ? labels[first + m] : -1;
    std::uint32_t word = 0;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const bool one = (found[m] == row) | ((row == kOnesRow) & (found[m] >= 0));
      word |= (one ? 1u : 0u) << (8 * m);
    }
    return word;
  }
  __device__ static void store_labels(std::uint32_t word, LabelTile& tile) {
    tile[static_cast<int>(threadIdx.x) / kLabelRows][static_cast<int>(threadIdx.x) % kLabelRows] = word;
  }

  // Where the sums of a label row with the features begin; null for a row of zeros.
  __device__ static unsigned long long* label_sums(const GramArguments& given, int row) {
    if (row < kClasses) return given.class_sums + row * kFeatures;
    return row == kOnesRow ? given.products + kPixels * kFeatures : nullptr;
  }

  // A segment. The words of the next step are loaded while one is multiplied. Multiplier has the thread's Sums, and
  //   multiply<kDiagonal>(rows, columns, labels, sums)   which adds a step; on the diagonal both sides are one tile
  //   add<kDiagonal>(given, segment, sums)               which adds them to memory.
  template <class Multiplier, bool kDiagonal>
  __device__ static void compute(const GramArguments& given, const GramSegment& segment, Tile& rows,
                                 Tile& columns, LabelTile& labels) {
    typename Multiplier::Sums sums = {};
    Words row_words;
    Words column_words;
    std::uint32_t label = 0;
    const auto load_step = [&](int step) {
      load(given, segment.row, step, row_words);
      if (kDiagonal) {
        label = label_word<true>(given, step);
      } else {
        load(given, segment.column, step, column_words);
      }
    };
    const int whole_end = min(segment.end, given.count / kStepImages);
    if (segment.begin < whole_end) load_step(segment.begin);
    for (int step = segment.begin; step < whole_end; ++step) {
      __syncthreads();
      store(row_words, rows);
      if (kDiagonal) {
        store_labels(label, labels);
      } else {
        store(column_words, columns);
      }
      __syncthreads();
      if (step + 1 < whole_end) load_step(step + 1);
      Multiplier::template multiply<kDiagonal>(rows, kDiagonal ? rows : columns, labels, sums);
    }
    if (whole_end < segment.end) {
      __syncthreads();
      copy_last(given, segment.row, whole_end, rows);
      if (kDiagonal) {
        store_labels(label_word<false>(given, whole_end), labels);
      } else {
        copy_last(given, segment.column, whole_end, columns);
      }
      __syncthreads();
      Multiplier::template multiply<kDiagonal>(rows, kDiagonal ? rows : columns, labels, sums);
    }
    Multiplier::template add<kDiagonal>(given, segment, sums);
  }

  // All that is the block's.
  template <class Multiplier>
  __device__ static void compute_piece(const GramArguments& given, Tile& rows, Tile& columns,
                                       LabelTile& labels) {
    for (GramSegment segment = {}; next(given, segment);) {
      if (segment.row > segment.column) {
        compute<Multiplier, false>(given, segment, rows, columns, labels);
      } else {
        compute<Multiplier, true>(given, segment, rows, columns, labels);
      }
    }
  }
};

}  // namespace mnistd::gpu::kernels
