// The product of matrices of bytes that a wavefront of 32 lanes makes as one on an NVIDIA GPU: multiply_signed_bytes.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/platform/emulator/clock.h"
#include "gpu/platform/emulator/exchange.h"

namespace mnistd::gpu::emulator {

// What each thread of a block brings: four words of A and two of B. One block runs at a time.
inline std::array<std::array<std::uint32_t, 6>, 1024> matrix_operands;

inline int dot_bytes(std::uint32_t signed_bytes, std::uint32_t unsigned_bytes) {
  int sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<std::int8_t>(signed_bytes >> shift & 0xff) *
           static_cast<std::uint8_t>(unsigned_bytes >> shift & 0xff);
  }
  return sum;
}

}  // namespace mnistd::gpu::emulator

namespace mnistd::gpu::platform {

inline void multiply_signed_bytes(const std::uint32_t (&left)[4], const std::uint32_t (&right)[2],
                                  int (&sums)[4], const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  using emulator::matrix_operands;
  const std::size_t thread = emulator::now.thread;
  matrix_operands[thread] = {left[0], left[1], left[2], left[3], right[0], right[1]};
  (void)emulator::ballot(true, {file, line});  // all lanes have brought theirs
  const std::size_t first = thread / 32 * 32;
  const std::size_t row = thread % 32 / 4;
  const std::size_t column = thread % 4 * 2;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto& a = matrix_operands[first + 4 * row + k];
    for (std::size_t c = 0; c < 2; ++c) {
      const auto& b = matrix_operands[first + 4 * (column + c) + k];
      sums[c] += emulator::dot_bytes(a[0], b[4]) + emulator::dot_bytes(a[2], b[5]);
      sums[2 + c] += emulator::dot_bytes(a[1], b[4]) + emulator::dot_bytes(a[3], b[5]);
    }
  }
  (void)emulator::ballot(true, {file, line});  // and none brings its next before all have read
}

}  // namespace mnistd::gpu::platform
