// NVIDIA GPUs: the HIP names that we use, over CUDA's runtime. HIP's own header for this does not compile with CUDA 13.
// Device code is compiled by nvcc; host code by any compiler, which sees the calls only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

#include "gpu/platform/shared_array.h"

using hipError_t = cudaError_t;
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
using hipMemcpyKind = cudaMemcpyKind;

inline constexpr hipError_t hipSuccess = cudaSuccess;
inline constexpr hipError_t hipErrorOutOfMemory = cudaErrorMemoryAllocation;
inline constexpr hipError_t hipErrorNoDevice = cudaErrorNoDevice;
inline constexpr hipError_t hipErrorInvalidValue = cudaErrorInvalidValue;
inline constexpr hipError_t hipErrorIllegalAddress = cudaErrorIllegalAddress;
inline constexpr hipError_t hipErrorLaunchFailure = cudaErrorLaunchFailure;
inline constexpr hipError_t hipErrorLaunchTimeOut = cudaErrorLaunchTimeout;
inline constexpr hipError_t hipErrorECCNotCorrectable = cudaErrorECCUncorrectable;
inline constexpr hipError_t hipErrorAssert = cudaErrorAssert;
inline constexpr hipError_t hipErrorUnknown = cudaErrorUnknown;
inline constexpr unsigned int hipStreamNonBlocking = cudaStreamNonBlocking;
inline constexpr unsigned int hipHostMallocDefault = cudaHostAllocDefault;
inline constexpr hipMemcpyKind hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
inline constexpr hipMemcpyKind hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
inline constexpr hipMemcpyKind hipMemcpyDeviceToDevice = cudaMemcpyDeviceToDevice;

// The members that we read.
struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];  // "sm_90": what AMD says in a name, NVIDIA says in two numbers
  std::size_t totalGlobalMem;
  int multiProcessorCount;
  int l2CacheSize;
  int warpSize;
};

inline const char* hipGetErrorString(hipError_t error) { return cudaGetErrorString(error); }
inline const char* hipGetErrorName(hipError_t error) { return cudaGetErrorName(error); }
inline hipError_t hipGetLastError() { return cudaGetLastError(); }
inline hipError_t hipGetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
inline hipError_t hipSetDevice(int device) { return cudaSetDevice(device); }
inline hipError_t hipDriverGetVersion(int* version) { return cudaDriverGetVersion(version); }
inline hipError_t hipRuntimeGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
inline hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) { return cudaMemGetInfo(free, total); }
inline hipError_t hipMalloc(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
inline hipError_t hipFree(void* memory) { return cudaFree(memory); }
inline hipError_t hipHostMalloc(void** memory, std::size_t bytes, unsigned int flags) {
  return cudaHostAlloc(memory, bytes, flags);
}
inline hipError_t hipHostFree(void* memory) { return cudaFreeHost(memory); }
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, stream);
}
inline hipError_t hipMemsetAsync(void* memory, int byte, std::size_t bytes, hipStream_t stream) {
  return cudaMemsetAsync(memory, byte, bytes, stream);
}
inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithFlags(stream, flags);
}
inline hipError_t hipStreamDestroy(hipStream_t stream) { return cudaStreamDestroy(stream); }
inline hipError_t hipStreamSynchronize(hipStream_t stream) { return cudaStreamSynchronize(stream); }
inline hipError_t hipEventCreate(hipEvent_t* event) { return cudaEventCreate(event); }
inline hipError_t hipEventDestroy(hipEvent_t event) { return cudaEventDestroy(event); }
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return cudaEventRecord(event, stream);
}
inline hipError_t hipEventSynchronize(hipEvent_t event) { return cudaEventSynchronize(event); }
inline hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  return cudaEventElapsedTime(milliseconds, begin, end);
}

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  cudaDeviceProp found;
  const cudaError_t error = cudaGetDeviceProperties(&found, device);
  if (error != cudaSuccess) return error;
  std::memcpy(properties->name, found.name, sizeof properties->name);
  properties->name[sizeof properties->name - 1] = '\0';
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "sm_%d%d", found.major, found.minor);
  properties->totalGlobalMem = found.totalGlobalMem;
  properties->multiProcessorCount = found.multiProcessorCount;
  properties->l2CacheSize = found.l2CacheSize;
  properties->warpSize = found.warpSize;
  return cudaSuccess;
}

namespace mnistd::gpu::platform {

inline constexpr int kSmallestWavefront = 32;

}  // namespace mnistd::gpu::platform

#if defined(__CUDACC__)

template <class... Parameters, class... Arguments>
void hipLaunchKernelGGL(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                        hipStream_t stream, Arguments... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Parameters>(arguments)...);
}

// Whole wavefronts only, as on the other platforms.
template <class T>
__device__ inline T __shfl(T value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
template <class T>
__device__ inline T __shfl_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T>
__device__ inline T __shfl_down(T value, unsigned int delta) {
  return __shfl_down_sync(0xffffffffu, value, delta);
}
// Of a bool: CUDA's own, of an int, can't be replaced.
__device__ inline unsigned long long __ballot(bool predicate) {
  return __ballot_sync(0xffffffffu, predicate);
}

namespace mnistd::gpu::platform {

__device__ inline int wavefront_size() { return warpSize; }

__device__ inline float byte_to_float(std::uint32_t word, int index) {
  return static_cast<float>((word >> (8 * index)) & 0xffu);
}

__device__ inline std::uint32_t dot4(std::uint32_t left, std::uint32_t right, std::uint32_t sum) {
  return __dp4a(left, right, sum);
}

}  // namespace mnistd::gpu::platform

#endif
