// The emulated device's properties, its errors, streams and events; see hip_api.h.
#include <chrono>
#include <cstdio>
#include <utility>

#include "gpu/platform/emulator/exchange.h"
#include "gpu/platform/emulator/handles.h"
#include "gpu/platform/emulator/hip_api.h"

struct ihipEvent_t {
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

namespace mnistd::gpu::emulator {
namespace {

thread_local hipError_t last_error = hipSuccess;

// Never destroyed: what a program's last static object gives back must still be known.
Handles<ihipEvent_t>& events() {
  static auto& handles = *new Handles<ihipEvent_t>;
  return handles;
}

struct Named {
  hipError_t error;
  const char* name;
  const char* text;
};
constexpr Named kNames[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {hipErrorDeinitialized, "hipErrorDeinitialized", "driver shutting down"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {hipErrorInsufficientDriver, "hipErrorInsufficientDriver",
     "driver version is insufficient for runtime version"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {hipErrorECCNotCorrectable, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {hipErrorAssert, "hipErrorAssert", "device-side assert triggered"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorCooperativeLaunchTooLarge, "hipErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
};

const Named& named(hipError_t error) {
  for (const Named& entry : kNames)
    if (entry.error == error) return entry;
  return kNames[std::size(kNames) - 1];
}

hipError_t result(bool all_is_well, hipError_t otherwise) {
  return all_is_well ? hipSuccess : remember(otherwise);
}

}  // namespace

hipError_t remember(hipError_t error) { return last_error = error; }

}  // namespace mnistd::gpu::emulator

namespace emulator = mnistd::gpu::emulator;

const char* hipGetErrorName(hipError_t error) { return emulator::named(error).name; }
const char* hipGetErrorString(hipError_t error) { return emulator::named(error).text; }
hipError_t hipPeekAtLastError() { return emulator::last_error; }
hipError_t hipGetLastError() { return std::exchange(emulator::last_error, hipSuccess); }

hipError_t hipGetDeviceCount(int* count) {
  if (count != nullptr) *count = 1;
  return emulator::result(count != nullptr, hipErrorInvalidValue);
}
hipError_t hipSetDevice(int device) { return emulator::result(device == 0, hipErrorInvalidDevice); }
hipError_t hipGetDevice(int* device) {
  if (device != nullptr) *device = 0;
  return emulator::result(device != nullptr, hipErrorInvalidValue);
}
hipError_t hipDeviceSynchronize() { return hipSuccess; }

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (properties == nullptr) return emulator::remember(hipErrorInvalidValue);
  if (device != 0) return emulator::remember(hipErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulator");
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "emulator");
  std::size_t free = 0;
  (void)hipMemGetInfo(&free, &properties->totalGlobalMem);
  properties->sharedMemPerBlock = 65536;
  properties->warpSize = emulator::kWavefront;
  properties->maxThreadsPerBlock = 1024;
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->l2CacheSize = 65536;  // as small as may be: copies that exceed it are cheap
  return hipSuccess;
}

// 1.0.0 in HIP's count: 10,000,000 a major version, 100,000 a minor one.
hipError_t hipDriverGetVersion(int* version) {
  if (version != nullptr) *version = 10'000'000;
  return emulator::result(version != nullptr, hipErrorInvalidValue);
}
hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (value == nullptr) return emulator::remember(hipErrorInvalidValue);
  if (device != 0) return emulator::remember(hipErrorInvalidDevice);
  switch (attribute) {
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeMultiprocessorCount:
      *value = 1;
      return hipSuccess;
  }
  return emulator::remember(hipErrorInvalidValue);
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                        std::size_t) {
  if (blocks == nullptr || kernel == nullptr || threads < 1) return emulator::remember(hipErrorInvalidValue);
  *blocks = threads <= 1024 ? 1 : 0;
  return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t* event) {
  if (event == nullptr) return emulator::remember(hipErrorInvalidValue);
  *event = emulator::events().add();
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return emulator::result(emulator::events().remove(event), hipErrorInvalidHandle);
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  if (!emulator::events().has(event) || !emulator::stream_exists(stream))
    return emulator::remember(hipErrorInvalidHandle);
  if (emulator::is_recording(stream)) return emulator::remember(hipErrorStreamCaptureUnsupported);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return emulator::result(emulator::events().has(event), hipErrorInvalidHandle);
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  if (milliseconds == nullptr) return emulator::remember(hipErrorInvalidValue);
  if (!emulator::events().has(begin) || !emulator::events().has(end) || !begin->recorded || !end->recorded)
    return emulator::remember(hipErrorInvalidHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return hipSuccess;
}
