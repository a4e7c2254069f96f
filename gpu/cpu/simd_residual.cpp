// Turns a tile's scores into residuals, and counts what is classified right: a vector of images at a time.
//
// Squares are taken and added in double: those of residuals above 1.8e19 leave the range of float.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_residual.cpp"
#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

void subtract(const std::uint8_t* HWY_RESTRICT labels, int count, float* HWY_RESTRICT scores,
              TileSums* HWY_RESTRICT sums) {
  const Floats floats;
  const hn::RebindToSigned<Floats> integers;
  const std::size_t lanes = hn::Lanes(floats);
  const std::size_t images = static_cast<std::size_t>(count);
  HWY_ALIGN std::int32_t label[kTileImages];
  HWY_ALIGN float own[kTileImages] = {};
  std::fill_n(label, kTileImages, -1);  // no class's, beyond the images
  for (std::size_t i = 0; i < images; ++i) {
    label[i] = labels[i];
    own[i] = scores[kTileImages * std::size_t{labels[i]} + i];
  }
  HWY_ALIGN std::int32_t right[kTileImages];
  for (std::size_t i = 0; i < images; i += lanes) {
    const auto of_label = hn::Load(integers, label + i);
    const Vector highest = hn::Load(floats, own + i);
    auto all = hn::FirstN(floats, images - i);
    for (int c = 0; c < kClasses; ++c) {
      const Vector score = hn::Load(floats, scores + kTileImages * c + i);
      const auto own_or_later = hn::RebindMask(floats, hn::Lt(of_label, hn::Set(integers, c + 1)));
      all = hn::And(all, hn::Or(hn::Gt(highest, score), hn::And(own_or_later, hn::Ge(highest, score))));
    }
    hn::Store(hn::IfThenElseZero(hn::RebindMask(integers, all), hn::Set(integers, 1)), integers, right + i);
  }
  for (std::size_t i = 0; i < images; ++i) sums->correct += static_cast<std::uint32_t>(right[i]);

  const hn::CappedTag<double, kWidestVector / 2> doubles;
  const hn::Rebind<float, decltype(doubles)> half;
  const hn::RebindToSigned<decltype(half)> half_integers;
  auto squares = hn::Zero(doubles);
  for (int c = 0; c < kClasses; ++c) {
    float* of_class = scores + kTileImages * c;
    auto residuals = hn::Zero(doubles);
    for (std::size_t i = 0; i < images; i += hn::Lanes(doubles)) {
      const auto is_class =
          hn::RebindMask(half, hn::Eq(hn::Load(half_integers, label + i), hn::Set(half_integers, c)));
      const auto score = hn::IfThenElseZero(hn::FirstN(half, images - i), hn::Load(half, of_class + i));
      const auto residual = hn::Sub(score, hn::IfThenElseZero(is_class, hn::Set(half, 1.0f)));
      hn::Store(residual, half, of_class + i);
      const auto wide = hn::PromoteTo(doubles, residual);
      residuals = hn::Add(residuals, wide);
      squares = hn::MulAdd(wide, wide, squares);
    }
    sums->residual[c] += hn::GetLane(hn::SumOfLanes(doubles, residuals));
  }
  sums->squared_residual += hn::GetLane(hn::SumOfLanes(doubles, squares));
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(subtract);

void subtract_labels(const std::uint8_t* labels, int count, float* scores, TileSums* sums) {
  HWY_DYNAMIC_DISPATCH(subtract)(labels, count, scores, sums);
}

}  // namespace mnistd::gpu::cpu
#endif
