// AMD GPUs: HIP itself. Device code is compiled by hipcc; host code by any compiler, which sees the calls only.
#pragma once

#include <cstdint>

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif

namespace mnistd::gpu::platform {

inline constexpr int kSmallestWavefront = 32;  // 64 on GCN and CDNA, 32 on RDNA

#if defined(__HIP__)

template <class T, int... kExtents>
struct SharedArray;
template <class T>
struct SharedArray<T> {
  using Type = T;
};
template <class T, int kFirst, int... kRest>
struct SharedArray<T, kFirst, kRest...> {
  using Type = typename SharedArray<T, kRest...>::Type[kFirst];
};
template <class T, int... kExtents>
using Shared = typename SharedArray<T, kExtents...>::Type;

__device__ inline int wavefront_size() { return warpSize; }

// v_cvt_f32_ubyte0 to 3.
__device__ inline float byte_to_float(std::uint32_t word, int index) {
  return static_cast<float>((word >> (8 * index)) & 0xffu);
}

#endif

}  // namespace mnistd::gpu::platform
