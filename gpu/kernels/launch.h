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

}  // namespace mnistd::gpu::kernels
