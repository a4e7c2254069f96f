// The calls of HIP's host side that we use, under HIP's names, with HIP's values: hipError_t is matched by number in
// logs. Errors come back as return values and stay for hipGetLastError, as there.
//
// A stream runs each operation at once, before the call returns; its order is that of the calls. Device memory is host
// memory from the C library, filled with a pattern that is NaN as float and double, so that AddressSanitizer sees what
// kernels read and write beyond it; under that sanitizer it is closed to the host while no kernel or copy runs.
#pragma once

#include <cstddef>
#include <functional>

enum [[nodiscard]] hipError_t{
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorDeinitialized = 4,
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidDevicePointer = 17,
    hipErrorInsufficientDriver = 35,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorNoBinaryForGpu = 209,
    hipErrorECCNotCorrectable = 214,
    hipErrorInvalidHandle = 400,
    hipErrorNotReady = 600,
    hipErrorIllegalAddress = 700,
    hipErrorLaunchTimeOut = 702,
    hipErrorAssert = 710,
    hipErrorLaunchFailure = 719,
    hipErrorCooperativeLaunchTooLarge = 720,
    hipErrorStreamCaptureUnsupported = 900,
    hipErrorUnknown = 999,
};

struct hipDeviceProp_t {
  char name[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int clockRate;  // kHz; 0: the emulator has none
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;  // bytes
  char gcnArchName[256];
};

enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4,
};

using hipStream_t = struct ihipStream_t*;  // null: the default stream
using hipEvent_t = struct ihipEvent_t*;
using hipGraph_t = struct ihipGraph*;
using hipGraphExec_t = struct hipGraphExec*;
enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = 0,
  hipStreamCaptureModeThreadLocal = 1,
  hipStreamCaptureModeRelaxed = 2,
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeCooperativeLaunch,
  hipDeviceAttributeMultiprocessorCount,
};
inline constexpr unsigned hipStreamDefault = 0;
inline constexpr unsigned hipStreamNonBlocking = 1;
inline constexpr unsigned hipHostMallocDefault = 0;

const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);
hipError_t hipGetLastError();  // and forgets it
hipError_t hipPeekAtLastError();

// One device, number 0.
hipError_t hipGetDeviceCount(int* count);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int* device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
// One: blocks run one after the other.
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                        std::size_t dynamic_shared_bytes);

hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total);
hipError_t hipMalloc(void** memory, std::size_t bytes);  // aligned to 256 bytes; of 0 bytes: null
hipError_t hipFree(void* memory);
hipError_t hipHostMalloc(void** memory, std::size_t bytes, unsigned flags = hipHostMallocDefault);
hipError_t hipHostFree(void* memory);
// hipErrorInvalidValue where a side that must be device memory does not lie within one allocation.
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream = nullptr);
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream = nullptr);

template <class T>
hipError_t hipMalloc(T** memory, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(memory), bytes);
}
template <class T>
hipError_t hipHostMalloc(T** memory, std::size_t bytes, unsigned flags = hipHostMallocDefault) {
  return hipHostMalloc(reinterpret_cast<void**>(memory), bytes, flags);
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);

// Between the two, launches, copies and fills on the stream are recorded, not done; the graph does them, in order, as often
// as it is launched. What waits for the stream meanwhile is refused.
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, void* failed_node, char* log,
                               std::size_t log_bytes);
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphExecDestroy(hipGraphExec_t executable);

hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end);

namespace mnistd::gpu::emulator {

// The memory of the emulated device, 2 GiB at the start. What is handed out already stays.
void set_memory_limit(std::size_t bytes);

// Keeps an error for hipGetLastError, and returns it.
hipError_t remember(hipError_t error);
bool stream_exists(hipStream_t stream);

// Whether what is put on the stream is recorded, and how it is.
bool is_recording(hipStream_t stream);
void record(hipStream_t stream, std::function<void()> work);

// Held while work of a stream runs: a launch or a copy. Work of other threads waits: shared memory is static. Device
// memory is open meanwhile. Throws std::logic_error if this thread runs a kernel.
class Turn {
 public:
  Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();
};

}  // namespace mnistd::gpu::emulator
