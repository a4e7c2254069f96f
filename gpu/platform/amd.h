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
inline constexpr bool kScalarOperands = true;  // on every one of AMD's
inline constexpr bool kHasByteMatrices = false;

#if defined(__HIP__)

__device__ inline int wavefront_size() { return warpSize; }

// v_readfirstlane_b32: from a vector register to a scalar one.
__device__ inline int uniform(int value) { return __builtin_amdgcn_readfirstlane(value); }

template <class T>
__device__ inline T& large_shared() {
  __shared__ T block;
  return block;
}
template <class T, class... Parameters, class... Arguments>
void launch_with_large_shared(void (*kernel)(Parameters...), dim3 grid, dim3 block, hipStream_t stream,
                              Arguments... arguments) {
  hipLaunchKernelGGL(kernel, grid, block, 0, stream, arguments...);
}

__device__ inline std::uint32_t float_bits(float value) { return __float_as_uint(value); }
__device__ inline float float_of_bits(std::uint32_t bits) { return __uint_as_float(bits); }

__device__ inline void keep_order() { __builtin_amdgcn_sched_barrier(0); }

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

// v_perm_b32, whose selector has a byte a byte and counts those of its second operand first.
template <std::uint32_t selector>
__device__ inline std::uint32_t permute_bytes(std::uint32_t first, std::uint32_t second) {
  constexpr std::uint32_t kSpread =
      (selector & 0x7u) | (selector & 0x70u) << 4 | (selector & 0x700u) << 8 | (selector & 0x7000u) << 12;
  return __builtin_amdgcn_perm(second, first, kSpread);
}

// ds_write_b128.
template <int size>
__device__ inline void store_four(std::uint32_t (&row)[size], int first, const std::uint32_t (&values)[4]) {
  *reinterpret_cast<uint4*>(row + first) = make_uint4(values[0], values[1], values[2], values[3]);
}

__device__ inline std::uint64_t load_across_blocks(const std::uint64_t* memory) {
  return __hip_atomic_load(memory, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline void store_across_blocks(std::uint64_t* memory, std::uint64_t value) {
  __hip_atomic_store(memory, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline void wait_for_blocks() { __builtin_amdgcn_s_sleep(1); }

#endif

}  // namespace mnistd::gpu::platform
