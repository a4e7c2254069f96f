// Register blocking: 4 rows × 2 vectors of columns. Eight sums, two vectors of columns, one of a row, which the load spreads over
// a vector, and one of products: twelve registers, 6 loads for 8 multiplications and 8 additions. The panel, 16 KB of a tile,
// stays in the first-level cache while all blocks of rows below it pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_gram_build.cpp"
#include "gpu/cpu/simd_gram_build.h"

#include <algorithm>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Sums = hn::CappedTag<std::int32_t, kWidestVector>;

#if HWY_TARGET == HWY_SCALAR
std::size_t build_columns() { return 8; }

HWY_INLINE void add_block(const std::int16_t* rows, const std::int16_t* panel, const std::uint64_t* ink,
                          std::uint32_t* products) {
  const std::size_t columns = build_columns();
  for (std::size_t word = 0; word < kGramMaskWords; ++word) {
    for (std::uint64_t mask = ink[word]; mask != 0; mask &= mask - 1) {
      const std::size_t at = 2 * columns * (64 * word + hwy::Num0BitsBelowLS1Bit_Nonzero64(mask));
      for (std::size_t a = 0; a < kGramRows; ++a) {
        for (std::size_t b = 0; b < columns; ++b) {
          const std::int16_t* x = rows + at + 2 * a;
          const std::int16_t* y = panel + at + 2 * b;
          products[columns * a + b] += static_cast<std::uint32_t>(x[0] * y[0] + x[1] * y[1]);
        }
      }
    }
  }
}
#else
using Pixels = hn::Repartition<std::int16_t, Sums>;

std::size_t build_columns() { return 2 * hn::Lanes(Sums()); }

// Sums of one vector of columns: x86 adds all to the first, others add half to each.
HWY_INLINE void multiply_add(hn::Vec<Pixels> row, hn::Vec<Pixels> columns, hn::Vec<Sums>& first,
                             hn::Vec<Sums>& second) {
  first = hn::ReorderWidenMulAccumulate(Sums(), row, columns, first, second);
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  asm volatile(
      ""
      : "+v"(first.raw));  // GCC 12 would take all products first, and run out of registers for the sums
#endif
}

HWY_INLINE void add_to(std::uint32_t* products, hn::Vec<Sums> first, hn::Vec<Sums> second) {
  const hn::RebindToUnsigned<Sums> tag;
  const auto total = hn::BitCast(tag, hn::RearrangeToOddPlusEven(first, second));
  hn::Store(hn::Add(hn::Load(tag, products), total), tag, products);
}

// One row's pixel of both images, in all columns.
HWY_INLINE hn::Vec<Pixels> spread(const std::int16_t* pair) {
  std::int32_t both;
  hwy::CopyBytes<4>(pair, &both);
  return hn::BitCast(Pixels(), hn::Set(Sums(), both));
}

// products[row][column] += Σ rows[pair][row]·panel[pair][column] over the pairs whose bits are set.
HWY_INLINE void add_block(const std::int16_t* HWY_RESTRICT rows, const std::int16_t* HWY_RESTRICT panel,
                          const std::uint64_t* HWY_RESTRICT ink, std::uint32_t* HWY_RESTRICT products) {
  const std::size_t lanes = hn::Lanes(Sums());
  hn::Vec<Sums> a0 = hn::Zero(Sums()), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
  hn::Vec<Sums> e0 = a0, e1 = a0, f0 = a0, f1 = a0, g0 = a0, g1 = a0, h0 = a0, h1 = a0;
  for (std::size_t word = 0; word < kGramMaskWords; ++word) {
    for (std::uint64_t mask = ink[word]; mask != 0; mask &= mask - 1) {
      const std::size_t at = 4 * lanes * hwy::Num0BitsBelowLS1Bit_Nonzero64(mask);
      const std::int16_t* row = rows + at;
      const std::int16_t* columns = panel + at;
      const auto x0 = hn::Load(Pixels(), columns);
      const auto x1 = hn::Load(Pixels(), columns + 2 * lanes);
      const auto a = spread(row);
      multiply_add(a, x0, a0, e0);
      multiply_add(a, x1, a1, e1);
      const auto b = spread(row + 2);
      multiply_add(b, x0, b0, f0);
      multiply_add(b, x1, b1, f1);
      const auto c = spread(row + 4);
      multiply_add(c, x0, c0, g0);
      multiply_add(c, x1, c1, g1);
      const auto d = spread(row + 6);
      multiply_add(d, x0, d0, h0);
      multiply_add(d, x1, d1, h1);
    }
    rows += 4 * lanes * 64;
    panel += 4 * lanes * 64;
  }
  add_to(products, a0, e0);
  add_to(products + lanes, a1, e1);
  add_to(products + 2 * lanes, b0, f0);
  add_to(products + 3 * lanes, b1, f1);
  add_to(products + 4 * lanes, c0, g0);
  add_to(products + 5 * lanes, c1, g1);
  add_to(products + 6 * lanes, d0, h0);
  add_to(products + 7 * lanes, d1, h1);
}
#endif

void lay_out(const std::uint8_t* HWY_RESTRICT pixels, int count, GramTile* HWY_RESTRICT tile) {
  const std::size_t columns = build_columns();
  const std::size_t images = static_cast<std::size_t>(count);
  std::memset(tile->ink, 0, sizeof(tile->ink));
  std::uint8_t first[kGramColumns] = {};
  std::uint8_t second[kGramColumns] = {};
  for (std::size_t i = 0; i < images; i += 2) {
    const std::size_t pair = i / 2;
    std::memcpy(first, pixels + kPixels * i, kPixels);
    if (i + 1 < images) {
      std::memcpy(second, pixels + kPixels * (i + 1), kPixels);
    } else {
      std::memset(second, 0, kPixels);
    }
    for (std::size_t begin = 0; begin < kPixels; begin += columns) {
      std::int16_t* to = tile->pixels + 2 * (kGramPairs * begin + columns * pair);
      for (std::size_t k = 0; k < columns; ++k) {
        to[2 * k] = first[begin + k];
        to[2 * k + 1] = second[begin + k];
      }
    }
    for (std::size_t block = 0; block < kGramRowBlocks; ++block) {
      std::uint32_t a, b;
      std::memcpy(&a, first + kGramRows * block, sizeof(a));
      std::memcpy(&b, second + kGramRows * block, sizeof(b));
      tile->ink[block][pair / 64] |= std::uint64_t{(a | b) != 0} << pair % 64;
    }
  }
}

void products(const GramTile& tile, GramSums* sums) {
  const std::size_t columns = build_columns();
  for (std::size_t begin = 0; begin < kPixels; begin += columns) {
    const std::int16_t* panel = tile.pixels + 2 * kGramPairs * begin;
    std::uint64_t ink_of_panel[kGramMaskWords] = {};
    const std::size_t end = std::min<std::size_t>(begin + columns, kPixels);
    for (std::size_t block = begin / kGramRows; block < end / kGramRows; ++block) {
      for (std::size_t word = 0; word < kGramMaskWords; ++word) ink_of_panel[word] |= tile.ink[block][word];
    }
    for (std::size_t block = begin / kGramRows; block < kGramRowBlocks; ++block) {
      std::uint64_t ink[kGramMaskWords];
      for (std::size_t word = 0; word < kGramMaskWords; ++word)
        ink[word] = ink_of_panel[word] & tile.ink[block][word];
      const std::size_t row = kGramRows * block;
      const std::size_t rows_begin = row / columns * columns;
      add_block(tile.pixels + 2 * (kGramPairs * rows_begin + row - rows_begin), panel, ink,
                sums->products[block] + kGramRows * begin);
    }
  }
}

void class_sums(const std::uint8_t* HWY_RESTRICT pixels, const std::uint8_t* HWY_RESTRICT labels, int count,
                GramSums* HWY_RESTRICT sums) {
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* image = pixels + std::size_t{kPixels} * i;
    std::uint32_t* of_class = sums->class_sums[labels[i]];
    for (int p = 0; p < kPixels; ++p) of_class[p] += image[p];
  }
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(build_columns);
HWY_EXPORT(lay_out);
HWY_EXPORT(products);
HWY_EXPORT(class_sums);

std::size_t gram_build_columns() { return HWY_DYNAMIC_DISPATCH(build_columns)(); }

void lay_out_pairs(const std::uint8_t* pixels, int count, GramTile* tile) {
  HWY_DYNAMIC_DISPATCH(lay_out)(pixels, count, tile);
}

void add_products(const GramTile& tile, GramSums* sums) { HWY_DYNAMIC_DISPATCH(products)(tile, sums); }

void add_class_sums(const std::uint8_t* pixels, const std::uint8_t* labels, int count, GramSums* sums) {
  HWY_DYNAMIC_DISPATCH(class_sums)(pixels, labels, count, sums);
}

}  // namespace mnistd::gpu::cpu
#endif
