// AMD GPUs: HIP itself. Device code is compiled by hipcc; host code by any compiler, which sees the calls only.
#pragma once

#include <cstdint>

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif

#include "gpu/platform/shared_array.h"

namespace mnistd::gpu::platform {

inline constexpr int kSmallestWavefront = 32;  // 64 on GCN and CDNA, 32 on RDNA

#if defined(__HIP__)

__device__ inline int wavefront_size() { return warpSize; }

// v_cvt_f32_ubyte0 to 3.
__device__ inline float byte_to_float(std::uint32_t word, int index) {
  return static_cast<float>((word >> (8 * index)) & 0xffu);
}

// v_dot4_u32_u8, from Vega 20 on.
__device__ inline std::uint32_t dot4(std::uint32_t left, std::uint32_t right, std::uint32_t sum) {
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
  return __builtin_amdgcn_udot4(left, right, sum, false);
#else
  for (int shift = 0; shift < 32; shift += 8) sum += ((left >> shift) & 0xffu) * ((right >> shift) & 0xffu);
  return sum;
#endif
}

#endif

}  // namespace mnistd::gpu::platform
