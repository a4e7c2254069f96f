// Backward kernel: a tile's share of the gradient.
//
// Register blocking: 10 classes × 1 vector of pixels. Ten accumulators stay in registers while those of the tile's images
// that have ink there stream by; an image costs one load of pixels and ten of its residuals, spread over a vector by the
// load itself, for ten multiply-adds. The accumulators are read and written once a tile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

// The vector of pixels that `pixels` and `gradient` point at.
HWY_INLINE void ten_classes(const std::uint8_t* pixels, std::uint64_t images, const float* residual,
                            float* gradient) {
  const Floats floats;
  Vector g0 = hn::Load(floats, gradient);
  Vector g1 = hn::Load(floats, gradient + kRowFloats);
  Vector g2 = hn::Load(floats, gradient + 2 * kRowFloats);
  Vector g3 = hn::Load(floats, gradient + 3 * kRowFloats);
  Vector g4 = hn::Load(floats, gradient + 4 * kRowFloats);
  Vector g5 = hn::Load(floats, gradient + 5 * kRowFloats);
  Vector g6 = hn::Load(floats, gradient + 6 * kRowFloats);
  Vector g7 = hn::Load(floats, gradient + 7 * kRowFloats);
  Vector g8 = hn::Load(floats, gradient + 8 * kRowFloats);
  Vector g9 = hn::Load(floats, gradient + 9 * kRowFloats);
  for (; images != 0; images &= images - 1) {
    const std::size_t image = hwy::Num0BitsBelowLS1Bit_Nonzero64(images);
    const Vector x = widened(pixels + kPixels * image);
    const float* r = residual + image;
    g0 = hn::MulAdd(hn::Set(floats, r[0]), x, g0);
    g1 = hn::MulAdd(hn::Set(floats, r[kTileImages]), x, g1);
    g2 = hn::MulAdd(hn::Set(floats, r[2 * kTileImages]), x, g2);
    g3 = hn::MulAdd(hn::Set(floats, r[3 * kTileImages]), x, g3);
    g4 = hn::MulAdd(hn::Set(floats, r[4 * kTileImages]), x, g4);
    g5 = hn::MulAdd(hn::Set(floats, r[5 * kTileImages]), x, g5);
    g6 = hn::MulAdd(hn::Set(floats, r[6 * kTileImages]), x, g6);
    g7 = hn::MulAdd(hn::Set(floats, r[7 * kTileImages]), x, g7);
    g8 = hn::MulAdd(hn::Set(floats, r[8 * kTileImages]), x, g8);
    g9 = hn::MulAdd(hn::Set(floats, r[9 * kTileImages]), x, g9);
  }
  hn::Store(g0, floats, gradient);
  hn::Store(g1, floats, gradient + kRowFloats);
  hn::Store(g2, floats, gradient + 2 * kRowFloats);
  hn::Store(g3, floats, gradient + 3 * kRowFloats);
  hn::Store(g4, floats, gradient + 4 * kRowFloats);
  hn::Store(g5, floats, gradient + 5 * kRowFloats);
  hn::Store(g6, floats, gradient + 6 * kRowFloats);
  hn::Store(g7, floats, gradient + 7 * kRowFloats);
  hn::Store(g8, floats, gradient + 8 * kRowFloats);
  hn::Store(g9, floats, gradient + 9 * kRowFloats);
}

void backward(const std::uint8_t* HWY_RESTRICT pixels, const TileInk& ink, const float* HWY_RESTRICT residual,
              float* HWY_RESTRICT gradient) {
  const std::size_t lanes = hn::Lanes(Floats());
  for (int part : {0, 1}) {
    const std::size_t first = kParts[part];
    const std::size_t end = kParts[part + 1];
    for (std::size_t p = first; p < end; p += lanes) {
      const std::size_t piece = (p - first) / piece_pixels() * piece_pixels();
      const std::uint64_t images = ink.of_eight[part][piece / 8];
      if (images != 0) ten_classes(pixels + p, images, residual, gradient + p);
    }
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

void backward_tile(const std::uint8_t* pixels, const TileInk& ink, const float* residual, float* gradient) {
  HWY_DYNAMIC_DISPATCH(backward)(pixels, ink, residual, gradient);
}

void sum_parts(const float* parts, std::size_t count, std::size_t stride, double scale, float* result) {
  HWY_DYNAMIC_DISPATCH(sum)(parts, count, stride, scale, result);
}

}  // namespace mnistd::gpu::cpu
#endif
