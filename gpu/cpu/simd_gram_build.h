// The inner loops of gram on a tile of images, for every vector unit that Highway knows.
//
// Two images at a time: their pixels are laid side by side as 16-bit numbers, so that one instruction multiplies pairs and adds
// the two products to a 32-bit sum, exactly. A tile holds 256 such pairs, cut into panels of as many columns as two
// vectors of sums have. A block is 4 rows of products in the columns of one panel: eight sums in registers, while those pairs of
// the tile stream by that have ink in these rows as well as in this panel. On dense images that is all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

inline constexpr int kGramPairs = 256;
inline constexpr int kGramTileImages = 2 * kGramPairs;
inline constexpr int kGramRows = 4;  // of a block
inline constexpr int kGramRowBlocks = kPixels / kGramRows;
inline constexpr int kGramColumns = 800;  // pixels, padded to whole panels of any vector unit
inline constexpr int kGramMaskWords = kGramPairs / 64;

struct alignas(64) GramTile {
  std::int16_t pixels[kGramColumns * kGramPairs * 2];  // [panel][pair][column][image of the pair]
  std::uint64_t ink[kGramRowBlocks][kGramMaskWords];   // bits: pairs that have ink in these rows
};

// Sums over images, of products in the lower triangle alone: [block of rows][panel][row][column].
struct alignas(64) GramSums {
  std::uint32_t products[kGramRowBlocks][kGramRows * kGramColumns];
  std::uint32_t class_sums[kClasses][kPixels];
};
// As many images as all sums have room for: 255²·66,051 < 2³².
inline constexpr int kGramMostImages = 66051;

std::size_t gram_build_columns();  // of a panel

// Lays out count ≤ kGramTileImages images.
void lay_out_pairs(const std::uint8_t* pixels, int count, GramTile* tile);

// Adds the products of a tile's pixels.
void add_products(const GramTile& tile, GramSums* sums);

// Adds the pixels of `count` images to the sums of their classes.
void add_class_sums(const std::uint8_t* pixels, const std::uint8_t* labels, int count, GramSums* sums);

}  // namespace mnistd::gpu::cpu
