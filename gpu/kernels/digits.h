// A matrix of floats as three matrices of signed bytes: the digits, to the base 256, of its entries over a common unit.
//
// For a class whose largest entry is m, q = round(a·kLargest/m) fits 24 bits, and a ≈ unit·q with unit = m/kLargest: the error
// is at most 2⁻²⁴ of m, what rounding to float costs the largest entries. q = d₀ + 256·d₁ + 65536·d₂ with each d in −128..127, so
// that Σ a·x over byte pixels x is unit·(Σ d₀x + 256·Σ d₁x + 65536·Σ d₂x): three products of bytes, whose sums are exact integers
// in whichever order they are added. (Ozaki, Ogita, Oishi, Rump 2012: error-free transformations of matrix products.)
//
// The 30 rows, of three digits of ten classes, fill two tiles of 16 rows, so placed that a lane of multiply_signed_bytes holds all
// digits of a class:
//
//     rows 0–7    d₀ of classes 0–7        rows 16–23   d₂ of classes 0–7
//     rows 8–15   d₁ of classes 0–7        rows 24–29   d₀ d₁ d₂ of class 8, d₀ d₁ d₂ of class 9; 30 and 31 are zero
#pragma once

#include <cstdint>

#include "gpu/kernels/kernels.h"
#include "gpu/platform/platform.h"

namespace mnistd::gpu::kernels::digits {

inline constexpr int kDigits = 3;
inline constexpr int kRows = 32;
inline constexpr int kLanes = 32;  // of multiply_signed_bytes
inline constexpr float kLargest =
    8350000;                           // below 127·65536 + 127·256 + 127, by more than a rounding of floats
inline constexpr int kSplitClass = 8;  // from here on a class's digits lie in neighbouring rows

__device__ inline int row_of(int c, int digit) {
  return c < kSplitClass ? 8 * digit + c : 24 + kDigits * (c - kSplitClass) + digit;
}

struct Unit {
  float value;    // NaN where an entry is infinite or not a number
  float inverse;  // 0 where there is nothing to divide by
};

// largest: the bits of the largest magnitude of a class's entries. As integers these are ordered as the magnitudes are, with
// infinity and NaN above all.
__device__ inline Unit unit_of(std::uint32_t largest) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  const float magnitude = platform::float_of_bits(largest);
  if (largest >= kInfinity) return {magnitude - magnitude, 0.0f};
  return {magnitude / kLargest, largest == 0 ? 0.0f : kLargest / magnitude};
}
__device__ inline std::uint32_t magnitude_bits(float value) {
  return platform::float_bits(value) & 0x7fffffff;
}

// The digits of four entries, a word of four bytes for each of the three.
__device__ inline void digits_of(const float (&entries)[4], const Unit& unit,
                                 std::uint32_t (&words)[kDigits]) {
#pragma unroll
  for (int d = 0; d < kDigits; ++d) words[d] = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int rest = unit.inverse == 0 ? 0 : static_cast<int>(rintf(entries[i] * unit.inverse));
#pragma unroll
    for (int d = 0; d < kDigits; ++d) {
      const int digit = ((rest + 128) & 255) - 128;
      rest = (rest - digit) >> 8;
      words[d] |= (static_cast<std::uint32_t>(digit) & 255u) << (8 * i);
    }
  }
}

// Over a group of kLanes lanes; all of them get the result.
__device__ inline std::uint32_t largest_of_lanes(std::uint32_t value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    value = max(value, __shfl_xor(value, distance));
  return value;
}
template <class T>
__device__ inline T sum_of_lanes(T value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) value += __shfl_xor(value, distance);
  return value;
}

}  // namespace mnistd::gpu::kernels::digits
