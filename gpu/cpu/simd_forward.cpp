// Forward kernel: scores of a tile of images.
//
// Register blocking: 2 images × 5 classes. Ten accumulators, two vectors of pixels and one of weights fit the sixteen
// registers of AVX2; ten independent chains cover the latency of two multiply-adds a cycle (four cycles each); and a
// step makes 7 loads for 10 multiply-adds, where two loads a cycle are to be had. One image × 10 classes would make
// 11 loads for as many and be bound by them. The second five classes read the pixels as floats, left by the first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_forward.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kWidestVector>;
using Vector = hn::Vec<Floats>;

VectorUnit unit() { return {hwy::TargetName(HWY_TARGET), static_cast<int>(hn::Lanes(Floats()))}; }

HWY_INLINE Vector widened(const std::uint8_t* pixels) {
  const Floats floats;
  const hn::Rebind<std::int32_t, Floats> integers;
  const hn::Rebind<std::uint8_t, Floats> bytes;
  return hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(bytes, pixels)));
}

// Keeps a vector in a register. GCC 12 would rather load it again for each of its uses, and loads are what is scarce.
HWY_INLINE Vector in_register(Vector values) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  asm("" : "+v"(values.raw));
#endif
  return values;
}

HWY_INLINE float total(Vector values) {
  const Floats floats;
  return hn::GetLane(hn::SumOfLanes(floats, values));
}

// Two images against the five classes from `first_class`. kWiden: read bytes and leave floats; else read those floats.
template <bool kWiden>
HWY_INLINE void five_classes(const std::uint8_t* image_a, const std::uint8_t* image_b, float* row_a,
                             float* row_b, const float* weights, const float* biases, float* scores_a,
                             float* scores_b) {
  const Floats floats;
  const std::size_t lanes = hn::Lanes(floats);
  Vector a0 = hn::Zero(floats), a1 = a0, a2 = a0, a3 = a0, a4 = a0;
  Vector b0 = a0, b1 = a0, b2 = a0, b3 = a0, b4 = a0;
  for (std::size_t p = 0; p < kPixels; p += lanes) {
    Vector a, b;
    if constexpr (kWiden) {
      a = widened(image_a + p);
      b = widened(image_b + p);
      hn::Store(a, floats, row_a + p);
      hn::Store(b, floats, row_b + p);
    } else {
      a = in_register(hn::Load(floats, row_a + p));
      b = in_register(hn::Load(floats, row_b + p));
    }
    const Vector w0 = in_register(hn::Load(floats, weights + p));
    a0 = hn::MulAdd(w0, a, a0);
    b0 = hn::MulAdd(w0, b, b0);
    const Vector w1 = in_register(hn::Load(floats, weights + kRowFloats + p));
    a1 = hn::MulAdd(w1, a, a1);
    b1 = hn::MulAdd(w1, b, b1);
    const Vector w2 = in_register(hn::Load(floats, weights + 2 * kRowFloats + p));
    a2 = hn::MulAdd(w2, a, a2);
    b2 = hn::MulAdd(w2, b, b2);
    const Vector w3 = in_register(hn::Load(floats, weights + 3 * kRowFloats + p));
    a3 = hn::MulAdd(w3, a, a3);
    b3 = hn::MulAdd(w3, b, b3);
    const Vector w4 = in_register(hn::Load(floats, weights + 4 * kRowFloats + p));
    a4 = hn::MulAdd(w4, a, a4);
    b4 = hn::MulAdd(w4, b, b4);
  }
  scores_a[0] = total(a0) + biases[0];
  scores_a[1] = total(a1) + biases[1];
  scores_a[2] = total(a2) + biases[2];
  scores_a[3] = total(a3) + biases[3];
  scores_a[4] = total(a4) + biases[4];
  scores_b[0] = total(b0) + biases[0];
  scores_b[1] = total(b1) + biases[1];
  scores_b[2] = total(b2) + biases[2];
  scores_b[3] = total(b3) + biases[3];
  scores_b[4] = total(b4) + biases[4];
}

// Asks for the pair of images that is kImagesAhead away, unless that is beyond the dataset. The processor's own
// prefetcher loses track where the pass turns back for the backward kernel: without this, a pass takes a third longer.
HWY_INLINE void fetch_ahead(const std::uint8_t* pair, const std::uint8_t* end) {
  constexpr std::ptrdiff_t kImagesAhead = 8;
  constexpr std::ptrdiff_t kLine = 64;
  if (end - pair < (kImagesAhead + 2) * kPixels) return;
  pair += kImagesAhead * kPixels;
  for (std::ptrdiff_t offset = 0; offset < 2 * kPixels; offset += kLine) hwy::Prefetch(pair + offset);
}

void forward(const std::uint8_t* HWY_RESTRICT pixels, const std::uint8_t* end, int count,
             const float* HWY_RESTRICT weights, const float* HWY_RESTRICT biases, float* HWY_RESTRICT rows,
             float* HWY_RESTRICT scores) {
  constexpr int kHalf = kClasses / 2;
  for (int i = 0; i < count; i += 2) {
    const int j = i + 1 < count ? i + 1 : i;  // an odd last image is its own partner
    const std::uint8_t* image_a = pixels + std::size_t{kPixels} * i;
    const std::uint8_t* image_b = pixels + std::size_t{kPixels} * j;
    fetch_ahead(image_a, end);
    float* row_a = rows + std::size_t{kRowFloats} * i;
    float* row_b = rows + std::size_t{kRowFloats} * j;
    float* scores_a = scores + kClasses * i;
    float* scores_b = scores + kClasses * j;
    five_classes<true>(image_a, image_b, row_a, row_b, weights, biases, scores_a, scores_b);
    five_classes<false>(image_a, image_b, row_a, row_b, weights + kHalf * kRowFloats, biases + kHalf,
                        scores_a + kHalf, scores_b + kHalf);
  }
}

void widen(const std::uint8_t* HWY_RESTRICT pixels, int count, float* HWY_RESTRICT rows) {
  const Floats floats;
  const std::size_t lanes = hn::Lanes(floats);
  for (int i = 0; i < count; ++i) {
    for (std::size_t p = 0; p < kPixels; p += lanes) hn::Store(widened(pixels + p), floats, rows + p);
    pixels += kPixels;
    rows += kRowFloats;
  }
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(unit);
HWY_EXPORT(forward);
HWY_EXPORT(widen);

VectorUnit vector_unit() { return HWY_DYNAMIC_DISPATCH(unit)(); }

void forward_tile(const std::uint8_t* pixels, const std::uint8_t* end, int count, const float* weights,
                  const float* biases, float* rows, float* scores) {
  HWY_DYNAMIC_DISPATCH(forward)(pixels, end, count, weights, biases, rows, scores);
}

void widen_tile(const std::uint8_t* pixels, int count, float* rows) {
  HWY_DYNAMIC_DISPATCH(widen)(pixels, count, rows);
}

}  // namespace mnistd::gpu::cpu
#endif
