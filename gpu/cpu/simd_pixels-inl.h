// What the kernels on pixels share, once for each vector unit: included by a file that Highway compiles again and again.
#if defined(MNISTD_GPU_CPU_SIMD_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MNISTD_GPU_CPU_SIMD_PIXELS_INL_H
#undef MNISTD_GPU_CPU_SIMD_PIXELS_INL_H
#else
#define MNISTD_GPU_CPU_SIMD_PIXELS_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mnistd::gpu::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kWidestVector>;
using Vector = hn::Vec<Floats>;

// A piece is one vector of pixels, or two where vectors are narrower than an eight.
HWY_INLINE std::size_t piece_pixels() {
  const std::size_t lanes = hn::Lanes(Floats());
  return lanes < 8 ? 8 : lanes;
}

HWY_INLINE Vector widened(const std::uint8_t* pixels) {
  const Floats floats;
  const hn::Rebind<std::int32_t, Floats> integers;
  const hn::Rebind<std::uint8_t, Floats> bytes;
  return hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(bytes, pixels)));
}

}  // namespace mnistd::gpu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
