// The functions that HIP offers to kernels without an include. fmaf and the rest of C's float functions are <math.h>'s.
#pragma once

#include <bit>
#include <cstdint>

#include <math.h>

inline int min(int left, int right) { return right < left ? right : left; }
inline unsigned min(unsigned left, unsigned right) { return right < left ? right : left; }
inline long min(long left, long right) { return right < left ? right : left; }
inline unsigned long min(unsigned long left, unsigned long right) { return right < left ? right : left; }
inline float min(float left, float right) { return fminf(left, right); }
inline double min(double left, double right) { return fmin(left, right); }

inline int max(int left, int right) { return left < right ? right : left; }
inline unsigned max(unsigned left, unsigned right) { return left < right ? right : left; }
inline long max(long left, long right) { return left < right ? right : left; }
inline unsigned long max(unsigned long left, unsigned long right) { return left < right ? right : left; }
inline float max(float left, float right) { return fmaxf(left, right); }
inline double max(double left, double right) { return fmax(left, right); }

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
// The place of the lowest bit that is set, from 1; 0 if none is.
inline int __ffs(unsigned bits) { return bits == 0 ? 0 : std::countr_zero(bits) + 1; }
inline int __ffsll(unsigned long long bits) { return bits == 0 ? 0 : std::countr_zero(bits) + 1; }

inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
