// Exchanges between the lanes of a wavefront: __shfl, __shfl_up, __shfl_down, __shfl_xor, __ballot.
//
// Which lane is read follows HIP's amd_warp_functions.h, and CUDA where both agree: __shfl_up, __shfl_down and
// __shfl_xor return the caller's own value where the lane to read lies outside of its segment of `width` lanes;
// __shfl takes the lane modulo the wavefront. Where a narrower segment is asked for, __shfl with a lane outside of it
// reads another lane in each release of HIP and in CUDA: a fault here. A read of a lane that does not take part is one
// too: its register holds what it likes.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "gpu/platform/emulator/fault.h"

#ifndef MNISTD_EMULATOR_WAVEFRONT
#error "MNISTD_EMULATOR_WAVEFRONT must be 32 or 64: link mnistd_emulator32 or mnistd_emulator64"
#endif

namespace mnistd::gpu::emulator {

inline constexpr int kWavefront = MNISTD_EMULATOR_WAVEFRONT;
static_assert(kWavefront == 32 || kWavefront == 64);

// What a lane brings. It gets the value of the lane `source`, or of a ballot, the active lanes with a value ≠ 0, as bits.
struct Exchange {
  enum class Kind { shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot };
  Kind kind = Kind::shuffle;
  std::uint64_t value = 0;
  int source = 0;
};

// By place in the segment of `width` lanes that the caller is in. `operand` is HIP's lane, delta or mask.
std::uint64_t shuffle(Exchange::Kind kind, std::uint64_t value, int operand, int width, const Place& place);
std::uint64_t ballot(bool predicate, const Place& place);

template <class T>
T shuffle_value(Exchange::Kind kind, T value, int operand, int width, const Place& place) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "HIP shuffles int, unsigned, float, double, long and long long");
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(shuffle(kind, std::bit_cast<Bits>(value), operand, width, place)));
}

}  // namespace mnistd::gpu::emulator

template <class T>
T __shfl(T value, int lane, int width = mnistd::gpu::emulator::kWavefront,
         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  using namespace mnistd::gpu::emulator;
  return shuffle_value(Exchange::Kind::shuffle, value, lane, width, {file, line});
}

template <class T>
T __shfl_up(T value, unsigned delta, int width = mnistd::gpu::emulator::kWavefront,
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  using namespace mnistd::gpu::emulator;
  return shuffle_value(Exchange::Kind::shuffle_up, value, static_cast<int>(delta), width, {file, line});
}

template <class T>
T __shfl_down(T value, unsigned delta, int width = mnistd::gpu::emulator::kWavefront,
              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  using namespace mnistd::gpu::emulator;
  return shuffle_value(Exchange::Kind::shuffle_down, value, static_cast<int>(delta), width, {file, line});
}

template <class T>
T __shfl_xor(T value, int mask, int width = mnistd::gpu::emulator::kWavefront,
             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  using namespace mnistd::gpu::emulator;
  return shuffle_value(Exchange::Kind::shuffle_xor, value, mask, width, {file, line});
}

inline unsigned long long __ballot(int predicate, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
  return mnistd::gpu::emulator::ballot(predicate != 0, {file, line});
}
