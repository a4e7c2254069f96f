// The loops of limits.h, for every vector unit that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/cpu/limit_loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gpu/cpu/limits.h"
#include "gpu/cpu/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kWidestVector>;
using Integers = hn::RebindToSigned<Floats>;
#if HWY_TARGET == HWY_SCALAR
using Halves = Integers;  // one multiplication at a time: nothing to gain from halves
#else
using Halves = hn::Repartition<std::int16_t, Integers>;
#endif
constexpr double kFloatChains = 12;
constexpr double kByteChains = 10;

LoopResult floats(int rounds) {
  const Floats tag;
  const auto factor = hn::Set(tag, 0.999f);
  const auto addend = hn::Set(tag, 0.5f);
  auto a = hn::Set(tag, static_cast<float>(rounds)), b = hn::Add(a, addend), c = hn::Add(b, addend),
       d = hn::Add(c, addend), e = hn::Add(d, addend), f = hn::Add(e, addend), g = hn::Add(f, addend),
       h = hn::Add(g, addend), i = hn::Add(h, addend), j = hn::Add(i, addend), k = hn::Add(j, addend),
       l = hn::Add(k, addend);
  for (int round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, factor, addend);
    b = hn::MulAdd(b, factor, addend);
    c = hn::MulAdd(c, factor, addend);
    d = hn::MulAdd(d, factor, addend);
    e = hn::MulAdd(e, factor, addend);
    f = hn::MulAdd(f, factor, addend);
    g = hn::MulAdd(g, factor, addend);
    h = hn::MulAdd(h, factor, addend);
    i = hn::MulAdd(i, factor, addend);
    j = hn::MulAdd(j, factor, addend);
    k = hn::MulAdd(k, factor, addend);
    l = hn::MulAdd(l, factor, addend);
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, d)), hn::Add(hn::Add(e, f), hn::Add(g, h))),
              hn::Add(hn::Add(i, j), hn::Add(k, l)));
  return {2.0 * kFloatChains * rounds * static_cast<double>(hn::Lanes(tag)),
          hn::GetLane(hn::SumOfLanes(tag, sum))};
}

// v + 3·v by its halves. A chain's sum is the next round's factor: a product of two constants would be taken out of the loop.
template <class Vector>
HWY_INLINE Vector advanced(Vector sum, hn::Vec<Halves> factor) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Add(sum, hn::Mul(sum, factor));
#else
  const Halves halves;
  Vector high = hn::Zero(Integers());  // what some processors sum apart: x86 does not
  const Vector low = hn::ReorderWidenMulAccumulate(Integers(), hn::BitCast(halves, sum), factor, sum, high);
#if HWY_ARCH_X86
  return low;
#else
  return hn::Add(low, high);
#endif
#endif
}

LoopResult bytes(int rounds) {
  const Integers tag;
  const auto factor = hn::Set(Halves(), static_cast<hn::TFromD<Halves>>(3));
  const auto one = hn::Set(tag, 1);
  auto a = hn::Set(tag, rounds), b = hn::Add(a, one), c = hn::Add(b, one), d = hn::Add(c, one),
       e = hn::Add(d, one), f = hn::Add(e, one), g = hn::Add(f, one), h = hn::Add(g, one),
       i = hn::Add(h, one), j = hn::Add(i, one);
  for (int round = 0; round < rounds; ++round) {
    a = advanced(a, factor);
    b = advanced(b, factor);
    c = advanced(c, factor);
    d = advanced(d, factor);
    e = advanced(e, factor);
    f = advanced(f, factor);
    g = advanced(g, factor);
    h = advanced(h, factor);
    i = advanced(i, factor);
    j = advanced(j, factor);
  }
  const auto sum = hn::Add(
      hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, d)), hn::Add(hn::Add(e, f), hn::Add(g, h))), hn::Add(i, j));
  return {2.0 * kByteChains * rounds * static_cast<double>(hn::Lanes(Halves())),
          static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)))};
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mnistd::gpu::cpu {

HWY_EXPORT(floats);
HWY_EXPORT(bytes);

LoopResult float_loop(int rounds) { return HWY_DYNAMIC_DISPATCH(floats)(rounds); }
LoopResult byte_loop(int rounds) { return HWY_DYNAMIC_DISPATCH(bytes)(rounds); }

}  // namespace mnistd::gpu::cpu
#endif
