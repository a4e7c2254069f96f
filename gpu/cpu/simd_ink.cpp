// Finds where a tile's images have ink: for each image by vector comparisons, and for each eight of pixels by turning that
// matrix of bits over.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_ink.cpp"
#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

// Bit e: whether bytes 8e to 8e+7 are not all 0.
HWY_INLINE std::uint64_t ink_of_eights(const std::uint8_t* pixels, std::size_t count) {
  std::uint64_t mask = 0;
  std::size_t e = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<std::uint64_t, 8> eights;
  const hn::Repartition<std::uint8_t, decltype(eights)> bytes;
  const std::size_t lanes = hn::Lanes(eights);
  for (; e + lanes <= count; e += lanes) {
    const auto values = hn::BitCast(eights, hn::LoadU(bytes, pixels + 8 * e));
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(eights, hn::Ne(values, hn::Zero(eights)), bits);
    mask |= std::uint64_t{bits[0]} << e;
  }
#endif
  for (; e < count; ++e) {
    std::uint64_t value;
    hwy::CopyBytes<8>(pixels + 8 * e, &value);
    mask |= std::uint64_t{value != 0} << e;
  }
  return mask;
}

// Turns over a matrix of 64×64 bits in place: blocks of 32×32 trade places, then of 16×16 inside them, and so on.
HWY_INLINE void turn_over(std::uint64_t* rows) {
  std::uint64_t lower = 0xffffffff;  // bits of the lower half of each block
  for (std::size_t size = 32; size > 0; size /= 2, lower ^= lower << size) {
    for (std::size_t block = 0; block < 64; block += 2 * size) {
      for (std::size_t k = block; k < block + size; ++k) {
        const std::uint64_t traded = ((rows[k] >> size) ^ rows[k + size]) & lower;
        rows[k] ^= traded << size;
        rows[k + size] ^= traded;
      }
    }
  }
}

void find(const std::uint8_t* HWY_RESTRICT pixels, int count, TileInk* HWY_RESTRICT ink) {
  for (int part : {0, 1}) {
    std::uint64_t* of_image = ink->of_image[part];
    const std::size_t first = kParts[part];
    const std::size_t eights = (kParts[part + 1] - first) / 8;
    std::fill_n(of_image, kTileImages, std::uint64_t{0});
    for (int i = 0; i < count; ++i) {
      std::uint64_t mask = ink_of_eights(pixels + std::size_t{kPixels} * i + first, eights);
      if (piece_pixels() == 16) mask = (mask | (mask >> 1)) & 0x5555555555555555;
      of_image[i] = mask;
    }
    std::copy_n(of_image, kTileImages, ink->of_eight[part]);
    turn_over(ink->of_eight[part]);
  }
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(find);

void find_ink(const std::uint8_t* pixels, int count, TileInk* ink) {
  HWY_DYNAMIC_DISPATCH(find)(pixels, count, ink);
}

}  // namespace mnistd::gpu::cpu
#endif
