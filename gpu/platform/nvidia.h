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
using hipGraph_t = cudaGraph_t;
using hipGraphExec_t = cudaGraphExec_t;
using hipDeviceAttribute_t = cudaDeviceAttr;

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
inline constexpr hipDeviceAttribute_t hipDeviceAttributeMultiprocessorCount = cudaDevAttrMultiProcessorCount;
inline constexpr hipDeviceAttribute_t hipDeviceAttributeCooperativeLaunch = cudaDevAttrCooperativeLaunch;
inline constexpr cudaStreamCaptureMode hipStreamCaptureModeThreadLocal = cudaStreamCaptureModeThreadLocal;
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
inline hipError_t hipGetDevice(int* device) { return cudaGetDevice(device); }
inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return cudaDeviceGetAttribute(value, attribute, device);
}
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

inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                               std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}
inline hipError_t hipStreamBeginCapture(hipStream_t stream, cudaStreamCaptureMode mode) {
  return cudaStreamBeginCapture(stream, mode);
}
inline hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return cudaStreamEndCapture(stream, graph);
}
inline hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, void*, char*,
                                      std::size_t) {
  return cudaGraphInstantiate(executable, graph, 0);
}
inline hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return cudaGraphLaunch(executable, stream);
}
inline hipError_t hipGraphDestroy(hipGraph_t graph) { return cudaGraphDestroy(graph); }
inline hipError_t hipGraphExecDestroy(hipGraphExec_t executable) { return cudaGraphExecDestroy(executable); }

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
inline constexpr bool kScalarOperands = false;
inline constexpr bool kHasByteMatrices = true;

}  // namespace mnistd::gpu::platform

#if defined(__CUDACC__)

template <class... Parameters, class... Arguments>
void hipLaunchKernelGGL(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                        hipStream_t stream, Arguments... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Parameters>(arguments)...);
}

template <class... Parameters>
hipError_t hipLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                      unsigned int shared_bytes, hipStream_t stream) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                                     shared_bytes, stream);
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

__device__ inline int uniform(int value) { return value; }

__device__ inline std::uint32_t float_bits(float value) { return __float_as_uint(value); }
__device__ inline float float_of_bits(std::uint32_t bits) { return __uint_as_float(bits); }

__device__ inline void keep_order() {}

// Static arrays take 48 KB at most, dynamic ones what a multiprocessor has.
template <class T>
__device__ inline T& large_shared() {
  extern __shared__ __align__(16) unsigned char large_shared_bytes[];
  return *reinterpret_cast<T*>(large_shared_bytes);
}
template <class T, class... Parameters, class... Arguments>
void launch_with_large_shared(void (*kernel)(Parameters...), dim3 grid, dim3 block, hipStream_t stream,
                              Arguments... arguments) {
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(sizeof(T))) == cudaSuccess) {
    hipLaunchKernelGGL(kernel, grid, block, sizeof(T), stream, arguments...);
  }
}

__device__ inline void fetch(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

// IMMA.16832.
__device__ inline void multiply_signed_bytes(const std::uint32_t (&left)[4], const std::uint32_t (&right)[2],
                                             int (&sums)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

__device__ inline float byte_to_float(std::uint32_t word, int index) {
  return static_cast<float>((word >> (8 * index)) & 0xffu);
}

__device__ inline std::uint32_t dot4(std::uint32_t left, std::uint32_t right, std::uint32_t sum) {
  return __dp4a(left, right, sum);
}

template <std::uint32_t selector>
__device__ inline std::uint32_t permute_bytes(std::uint32_t first, std::uint32_t second) {
  return __byte_perm(first, second, selector);
}

template <int size>
__device__ inline void store_four(std::uint32_t (&row)[size], int first, const std::uint32_t (&values)[4]) {
  *reinterpret_cast<uint4*>(row + first) = make_uint4(values[0], values[1], values[2], values[3]);
}

// The tensor cores: mma.m16n8k32 of bytes, sums modulo 2³².
__device__ inline void multiply_byte_matrices(const std::uint32_t (&left)[4], const std::uint32_t (&right)[2],
                                              std::uint32_t (&sums)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

__device__ inline std::uint64_t load_across_blocks(const std::uint64_t* memory) {
  std::uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(memory) : "memory");
  return value;
}
__device__ inline void store_across_blocks(std::uint64_t* memory, std::uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(memory), "l"(value) : "memory");
}
__device__ inline void wait_for_blocks() {}

}  // namespace mnistd::gpu::platform

#endif
