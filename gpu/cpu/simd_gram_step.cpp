// Register blocking: 5 classes × 2 vectors of columns. Ten accumulators stay in registers while the panel's rows stream by; a
// row costs two loads of the panel and five of the weights, spread over a vector by the load itself, for ten
// multiply-adds. Sums run over segments of kSegmentRows rows, which are then added: rounding grows with a segment.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/simd_gram_step.cpp"
#include "gpu/cpu/simd_gram_step.h"

#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kWidestVector>;
using Vector = hn::Vec<Floats>;

constexpr std::size_t kSegmentRows = 400;
constexpr std::size_t kMostColumns = 2 * kWidestVector;

std::size_t panel_columns() { return 2 * hn::Lanes(Floats()); }

HWY_INLINE void add(Vector sum, float* to) {
  const Floats floats;
  hn::Store(hn::Add(hn::Load(floats, to), sum), floats, to);
}

// products[c][column] += Σ weights[c][row]·panel[row][column] over `rows` rows.
HWY_INLINE void add_segment(const float* HWY_RESTRICT panel, std::size_t rows,
                            const float* HWY_RESTRICT weights, float* HWY_RESTRICT products) {
  const Floats floats;
  const std::size_t lanes = hn::Lanes(floats);
  Vector a0 = hn::Zero(floats), a1 = a0, a2 = a0, a3 = a0, a4 = a0;
  Vector b0 = a0, b1 = a0, b2 = a0, b3 = a0, b4 = a0;
#pragma GCC unroll 2
  for (std::size_t row = 0; row < rows; ++row) {
    const Vector a = hn::Load(floats, panel);
    const Vector b = hn::Load(floats, panel + lanes);
    const Vector w0 = hn::Set(floats, weights[0]);
    a0 = hn::MulAdd(w0, a, a0);
    b0 = hn::MulAdd(w0, b, b0);
    const Vector w1 = hn::Set(floats, weights[kGramStride]);
    a1 = hn::MulAdd(w1, a, a1);
    b1 = hn::MulAdd(w1, b, b1);
    const Vector w2 = hn::Set(floats, weights[2 * kGramStride]);
    a2 = hn::MulAdd(w2, a, a2);
    b2 = hn::MulAdd(w2, b, b2);
    const Vector w3 = hn::Set(floats, weights[3 * kGramStride]);
    a3 = hn::MulAdd(w3, a, a3);
    b3 = hn::MulAdd(w3, b, b3);
    const Vector w4 = hn::Set(floats, weights[4 * kGramStride]);
    a4 = hn::MulAdd(w4, a, a4);
    b4 = hn::MulAdd(w4, b, b4);
    panel += 2 * lanes;
    ++weights;
  }
  add(a0, products);
  add(b0, products + lanes);
  add(a1, products + kMostColumns);
  add(b1, products + kMostColumns + lanes);
  add(a2, products + 2 * kMostColumns);
  add(b2, products + 2 * kMostColumns + lanes);
  add(a3, products + 3 * kMostColumns);
  add(b3, products + 3 * kMostColumns + lanes);
  add(a4, products + 4 * kMostColumns);
  add(b4, products + 4 * kMostColumns + lanes);
}

double step_panel(const GramStep& step) {
  const Floats floats;
  const hn::CappedTag<double, kWidestVector / 2> doubles;
  const hn::Rebind<float, decltype(doubles)> half;
  const std::size_t columns = panel_columns();
  HWY_ALIGN float products[kStepClasses * kMostColumns] = {};
  for (std::size_t row = 0; row < step.rows; row += kSegmentRows) {
    add_segment(step.panel + columns * row, std::min(kSegmentRows, step.rows - row), step.all_weights + row,
                products);
  }
  auto share = hn::Zero(doubles);
  const Vector twice_rate = hn::Set(floats, step.twice_rate);
  for (std::size_t c = 0; c < kStepClasses; ++c) {
    const float* product = products + kMostColumns * c;
    const float* weights = step.weights + kGramStride * c;
    const float* target = step.class_sums + kGramStride * c;
    float* next = step.next_weights + kGramStride * c;
    for (std::size_t k = 0; k < columns; k += hn::Lanes(floats)) {
      const Vector change = hn::Sub(hn::Load(floats, product + k), hn::Load(floats, target + k));
      hn::Store(hn::NegMulAdd(twice_rate, change, hn::Load(floats, weights + k)), floats, next + k);
    }
    for (std::size_t k = 0; k < columns; k += hn::Lanes(doubles)) {
      const auto wide_target = hn::PromoteTo(doubles, hn::Load(half, target + k));
      const auto excess =
          hn::Sub(hn::PromoteTo(doubles, hn::Load(half, product + k)), hn::Add(wide_target, wide_target));
      share = hn::MulAdd(hn::PromoteTo(doubles, hn::Load(half, weights + k)), excess, share);
    }
  }
  return hn::GetLane(hn::SumOfLanes(doubles, share));
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(panel_columns);
HWY_EXPORT(step_panel);

std::size_t gram_panel_columns() { return HWY_DYNAMIC_DISPATCH(panel_columns)(); }

double gram_step_panel(const GramStep& step) { return HWY_DYNAMIC_DISPATCH(step_panel)(step); }

}  // namespace mnistd::gpu::cpu
#endif
