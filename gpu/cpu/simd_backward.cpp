// Backward kernel: a tile's share of the gradient.
//
// Register blocking: 5 classes × 2 vectors of pixels. Ten accumulators stay in registers while the tile's images stream
// by; an image costs two loads of pixels and five of its residuals, spread over a vector by the load itself, for ten
// multiply-adds. The accumulators are read and written once a tile: a twentieth of the work at 40 images.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kWidestVector>;
using Vector = hn::Vec<Floats>;

// Five classes, the two vectors of pixels that `rows` and `gradient` point at; a residual row is ten floats on.
HWY_INLINE void five_by_two(const float* rows, int count, const float* residual, float* gradient) {
  const Floats floats;
  const std::size_t lanes = hn::Lanes(floats);
  float* const g0 = gradient;
  float* const g1 = g0 + kRowFloats;
  float* const g2 = g1 + kRowFloats;
  float* const g3 = g2 + kRowFloats;
  float* const g4 = g3 + kRowFloats;
  Vector a0 = hn::Load(floats, g0), b0 = hn::Load(floats, g0 + lanes);
  Vector a1 = hn::Load(floats, g1), b1 = hn::Load(floats, g1 + lanes);
  Vector a2 = hn::Load(floats, g2), b2 = hn::Load(floats, g2 + lanes);
  Vector a3 = hn::Load(floats, g3), b3 = hn::Load(floats, g3 + lanes);
  Vector a4 = hn::Load(floats, g4), b4 = hn::Load(floats, g4 + lanes);
  for (int i = 0; i < count; ++i) {
    const Vector a = hn::Load(floats, rows);
    const Vector b = hn::Load(floats, rows + lanes);
    const Vector r0 = hn::Set(floats, residual[0]);
    a0 = hn::MulAdd(r0, a, a0);
    b0 = hn::MulAdd(r0, b, b0);
    const Vector r1 = hn::Set(floats, residual[1]);
    a1 = hn::MulAdd(r1, a, a1);
    b1 = hn::MulAdd(r1, b, b1);
    const Vector r2 = hn::Set(floats, residual[2]);
    a2 = hn::MulAdd(r2, a, a2);
    b2 = hn::MulAdd(r2, b, b2);
    const Vector r3 = hn::Set(floats, residual[3]);
    a3 = hn::MulAdd(r3, a, a3);
    b3 = hn::MulAdd(r3, b, b3);
    const Vector r4 = hn::Set(floats, residual[4]);
    a4 = hn::MulAdd(r4, a, a4);
    b4 = hn::MulAdd(r4, b, b4);
    rows += kRowFloats;
    residual += kClasses;
  }
  hn::Store(a0, floats, g0);
  hn::Store(b0, floats, g0 + lanes);
  hn::Store(a1, floats, g1);
  hn::Store(b1, floats, g1 + lanes);
  hn::Store(a2, floats, g2);
  hn::Store(b2, floats, g2 + lanes);
  hn::Store(a3, floats, g3);
  hn::Store(b3, floats, g3 + lanes);
  hn::Store(a4, floats, g4);
  hn::Store(b4, floats, g4 + lanes);
}

void backward(const float* HWY_RESTRICT rows, int count, const float* HWY_RESTRICT residual,
              float* HWY_RESTRICT gradient) {
  constexpr int kHalf = kClasses / 2;
  const std::size_t step = 2 * hn::Lanes(Floats());
  for (std::size_t p = 0; p < kPixels; p += step) {
    five_by_two(rows + p, count, residual, gradient + p);
    five_by_two(rows + p, count, residual + kHalf, gradient + kHalf * kRowFloats + p);
  }
}

void sum(const float* HWY_RESTRICT parts, std::size_t count, std::size_t stride, double scale,
         float* HWY_RESTRICT result) {
  double sums[kPixels] = {};
  for (std::size_t k = 0; k < count; ++k) {
    const float* part = parts + k * stride;
    for (int p = 0; p < kPixels; ++p) sums[p] += static_cast<double>(part[p]);
  }
  for (int p = 0; p < kPixels; ++p) result[p] = static_cast<float>(scale * sums[p]);
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(backward);
HWY_EXPORT(sum);

void backward_tile(const float* rows, int count, const float* residual, float* gradient) {
  HWY_DYNAMIC_DISPATCH(backward)(rows, count, residual, gradient);
}

void sum_parts(const float* parts, std::size_t count, std::size_t stride, double scale, float* result) {
  HWY_DYNAMIC_DISPATCH(sum)(parts, count, stride, scale, result);
}

}  // namespace mnistd::gpu::cpu
#endif
