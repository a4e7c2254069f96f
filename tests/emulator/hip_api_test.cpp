#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"

namespace mnistd::gpu::emulator {
namespace {

struct MemoryLimit {
  explicit MemoryLimit(std::size_t bytes) {
    std::size_t free = 0;
    REQUIRE(hipMemGetInfo(&free, &before) == hipSuccess);
    set_memory_limit(bytes);
  }
  ~MemoryLimit() { set_memory_limit(before); }
  std::size_t before = 0;
};

}  // namespace

TEST_CASE("memory runs out where the limit is, and can be asked how much is left") {
  const MemoryLimit limit(1000);
  void* first = nullptr;
  void* second = nullptr;
  CHECK(hipMalloc(&first, 600) == hipSuccess);
  CHECK(hipMalloc(&second, 401) == hipErrorOutOfMemory);
  CHECK(second == nullptr);
  CHECK(hipGetLastError() == hipErrorOutOfMemory);
  CHECK(hipMalloc(&second, SIZE_MAX) == hipErrorOutOfMemory);
  std::size_t free = 0, total = 0;
  CHECK(hipMemGetInfo(&free, &total) == hipSuccess);
  CHECK(free == 400);
  CHECK(total == 1000);
  CHECK(hipMalloc(&second, 400) == hipSuccess);
  CHECK(hipFree(first) == hipSuccess);
  CHECK(hipFree(first) == hipErrorInvalidValue);
  CHECK(hipFree(second) == hipSuccess);
  CHECK(hipFree(nullptr) == hipSuccess);
  CHECK(hipMalloc(&first, 0) == hipSuccess);
  CHECK(first == nullptr);
  (void)hipGetLastError();
}

TEST_CASE("memory that nothing was written to is not a number, and is aligned") {
  DeviceArray<float> floats(17);
  CHECK(reinterpret_cast<std::uintptr_t>(floats.data()) % 256 == 0);
  for (float value : floats.to_vector()) CHECK(std::isnan(value));
  DeviceArray<double> doubles(3);
  for (double value : doubles.to_vector()) CHECK(std::isnan(value));
}

TEST_CASE("copies and fills stay within one allocation") {
  DeviceArray<int> device(std::vector<int>{1, 2, 3, 4}), other(2);
  CHECK(hipMemcpyAsync(other.data(), device.data() + 2, 8, hipMemcpyDeviceToDevice) == hipSuccess);
  CHECK(other.to_vector() == std::vector<int>{3, 4});
  CHECK(hipMemsetAsync(device.data() + 1, 0, 8) == hipSuccess);
  CHECK(device.to_vector() == std::vector<int>{1, 0, 0, 4});
  CHECK(hipMemcpyAsync(device.data(), other.data(), 0, hipMemcpyDeviceToDevice) == hipSuccess);

  std::vector<int> host(8, 9);
  CHECK(hipMemcpyAsync(device.data() + 1, host.data(), 16, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpyAsync(host.data(), device.data(), 17, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  CHECK(hipMemcpyAsync(host.data() + 4, host.data(), 4, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpyAsync(device.data(), nullptr, 4, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemsetAsync(host.data(), 0, 4) == hipErrorInvalidValue);
  CHECK(hipMemsetAsync(device.data(), 0, SIZE_MAX) == hipErrorInvalidValue);
  CHECK(device.to_vector() == std::vector<int>{1, 0, 0, 4});
  (void)hipGetLastError();
}

TEST_CASE("pinned memory is the host's") {
  int* pinned = nullptr;
  REQUIRE(hipHostMalloc(&pinned, 16) == hipSuccess);
  for (int i = 0; i < 4; ++i) pinned[i] = i;
  DeviceArray<int> device(4);
  CHECK(hipMemcpyAsync(device.data(), pinned, 16, hipMemcpyHostToDevice) == hipSuccess);
  CHECK(device.to_vector() == std::vector<int>{0, 1, 2, 3});
  CHECK(hipFree(pinned) == hipErrorInvalidValue);
  CHECK(hipHostFree(pinned) == hipSuccess);
  CHECK(hipHostFree(pinned) == hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST_CASE("one device, with the properties of the emulator") {
  int count = 0, device = -1, version = 0;
  CHECK(hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == 1);
  CHECK(hipSetDevice(0) == hipSuccess);
  CHECK(hipSetDevice(1) == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipErrorInvalidDevice);
  CHECK(hipGetDevice(&device) == hipSuccess);
  CHECK(device == 0);
  CHECK(hipRuntimeGetVersion(&version) == hipSuccess);
  CHECK(version > 0);
  hipDeviceProp_t properties;
  REQUIRE(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  CHECK(std::string(properties.name) == "emulator");
  CHECK(std::string(properties.gcnArchName) == "emulator");
  CHECK(properties.warpSize == platform::wavefront_size());
  CHECK(properties.maxThreadsPerBlock == 1024);
  CHECK(properties.totalGlobalMem == std::size_t{2} << 30);
  CHECK(hipGetDeviceProperties(&properties, 1) == hipErrorInvalidDevice);
  CHECK(std::string(hipGetErrorName(hipErrorOutOfMemory)) == "hipErrorOutOfMemory");
  CHECK(std::string(hipGetErrorString(hipErrorOutOfMemory)) == "out of memory");
  (void)hipGetLastError();
}

TEST_CASE("streams and events that are gone, and events that never were recorded") {
  hipStream_t stream = nullptr;
  hipEvent_t begin = nullptr, end = nullptr;
  REQUIRE(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  REQUIRE(hipEventCreate(&begin) == hipSuccess);
  REQUIRE(hipEventCreate(&end) == hipSuccess);
  float milliseconds = 0;
  CHECK(hipEventRecord(begin, stream) == hipSuccess);
  CHECK(hipEventElapsedTime(&milliseconds, begin, end) == hipErrorInvalidHandle);
  CHECK(hipStreamDestroy(stream) == hipSuccess);
  CHECK(hipStreamDestroy(stream) == hipErrorInvalidHandle);
  CHECK(hipStreamSynchronize(stream) == hipErrorInvalidHandle);
  CHECK(hipEventRecord(begin, stream) == hipErrorInvalidHandle);
  CHECK(hipEventDestroy(begin) == hipSuccess);
  CHECK(hipEventSynchronize(begin) == hipErrorInvalidHandle);
  CHECK(hipEventDestroy(end) == hipSuccess);
  (void)hipGetLastError();
}

}  // namespace mnistd::gpu::emulator
