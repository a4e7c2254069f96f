// Small things that all launchers do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/hip/check.h"
#include "gpu/ops.h"

namespace mnistd::gpu::kernels {

// How many parts of at most `size` make `count` ≥ 1.
constexpr unsigned int parts_of(int count, int size) {
  return static_cast<unsigned int>((count - 1) / size + 1);
}

// An image's pixels begin at a multiple of four bytes, as 784 is one.
inline const std::uint32_t* words_of(const std::uint8_t* pixels) {
  return reinterpret_cast<const std::uint32_t*>(pixels);
}

// How many blocks of a kernel the current device runs at once.
template <class... Parameters>
int resident_blocks(void (*kernel)(Parameters...), int threads) {
  int device = 0;
  int units = 0;
  int blocks_a_unit = 0;
  MNISTD_HIP_CHECK(hipGetDevice(&device));
  MNISTD_HIP_CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device));
  MNISTD_HIP_CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks_a_unit, reinterpret_cast<const void*>(kernel), threads, 0));
  return units * blocks_a_unit;
}

}  // namespace mnistd::gpu::kernels
