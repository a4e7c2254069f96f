// Forward kernel: scores of a tile of images, and where they have ink.
//
// Register blocking: 1 image × 10 classes. Ten accumulators and a vector of pixels; ten independent chains cover the
// latency of two multiply-adds a cycle (four cycles each). A piece of the pixels makes 11 loads for 10 multiply-adds,
// where two loads a cycle are to be had, so that loads bound it, by a tenth. Two images × 5 classes would make 7
// loads, but walk over the pieces where either has ink: on MNIST that is more work than it saves.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_forward.cpp"
#include <algorithm>

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

VectorUnit unit() { return {hwy::TargetName(HWY_TARGET), static_cast<int>(hn::Lanes(Floats()))}; }

HWY_INLINE float total(Vector values) {
  const Floats floats;
  return hn::GetLane(hn::SumOfLanes(floats, values));
}

// Asks for the same part of the image that is a tile away, unless that is beyond the dataset. The processor's own
// prefetcher loses track where the pass turns back for the backward kernel.
HWY_INLINE void fetch_ahead(const std::uint8_t* pixels, const std::uint8_t* end, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  if (end - pixels < (kTileImages + 1) * kPixels) return;
  pixels += kTileImages * kPixels;
  for (std::size_t offset = 0; offset < bytes; offset += kLine) __builtin_prefetch(pixels + offset, 0, 2);
}

// Adds a part's share to scores that are the biases to begin with.
HWY_INLINE void forward_part(const std::uint8_t* HWY_RESTRICT pixels, const std::uint8_t* end, int count,
                             int part, const std::uint64_t* HWY_RESTRICT ink,
                             const float* HWY_RESTRICT weights, float* HWY_RESTRICT scores) {
  const Floats floats;
  const std::size_t lanes = hn::Lanes(floats);
  const std::size_t first = kParts[part];
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* image = pixels + std::size_t{kPixels} * i;
    fetch_ahead(image + first, end, kParts[part + 1] - first);
    Vector s0 = hn::Zero(floats), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0,
           s9 = s0;
    for (std::uint64_t mask = ink[i]; mask != 0; mask &= mask - 1) {
      const std::size_t piece = first + 8 * hwy::Num0BitsBelowLS1Bit_Nonzero64(mask);
      for (std::size_t p = piece; p < piece + piece_pixels(); p += lanes) {
        const Vector x = widened(image + p);
        const float* w = weights + p;
        s0 = hn::MulAdd(hn::Load(floats, w), x, s0);
        s1 = hn::MulAdd(hn::Load(floats, w + kRowFloats), x, s1);
        s2 = hn::MulAdd(hn::Load(floats, w + 2 * kRowFloats), x, s2);
        s3 = hn::MulAdd(hn::Load(floats, w + 3 * kRowFloats), x, s3);
        s4 = hn::MulAdd(hn::Load(floats, w + 4 * kRowFloats), x, s4);
        s5 = hn::MulAdd(hn::Load(floats, w + 5 * kRowFloats), x, s5);
        s6 = hn::MulAdd(hn::Load(floats, w + 6 * kRowFloats), x, s6);
        s7 = hn::MulAdd(hn::Load(floats, w + 7 * kRowFloats), x, s7);
        s8 = hn::MulAdd(hn::Load(floats, w + 8 * kRowFloats), x, s8);
        s9 = hn::MulAdd(hn::Load(floats, w + 9 * kRowFloats), x, s9);
      }
    }
    float* score = scores + i;
    score[0] += total(s0);
    score[kTileImages] += total(s1);
    score[2 * kTileImages] += total(s2);
    score[3 * kTileImages] += total(s3);
    score[4 * kTileImages] += total(s4);
    score[5 * kTileImages] += total(s5);
    score[6 * kTileImages] += total(s6);
    score[7 * kTileImages] += total(s7);
    score[8 * kTileImages] += total(s8);
    score[9 * kTileImages] += total(s9);
  }
}

void forward(const std::uint8_t* pixels, const std::uint8_t* end, int count, const TileInk& ink,
             const float* weights, const float* biases, float* scores) {
  for (int c = 0; c < kClasses; ++c) std::fill_n(scores + kTileImages * c, count, biases[c]);
  for (int part : {0, 1}) forward_part(pixels, end, count, part, ink.of_image[part], weights, scores);
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(unit);
HWY_EXPORT(forward);

VectorUnit vector_unit() { return HWY_DYNAMIC_DISPATCH(unit)(); }

void forward_tile(const std::uint8_t* pixels, const std::uint8_t* end, int count, const TileInk& ink,
                  const float* weights, const float* biases, float* scores) {
  HWY_DYNAMIC_DISPATCH(forward)(pixels, end, count, ink, weights, biases, scores);
}

}  // namespace mnistd::gpu::cpu
#endif
