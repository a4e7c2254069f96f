// Recordings of a stream, and cooperative launches.
#include <vector>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"
#include "tests/emulator/faults.h"

namespace mnistd::gpu::emulator {
namespace {

__global__ void add(int* value, int addend) {
  if (threadIdx.x == 0) *value += addend;
}

__global__ void add_in_blocks(int* values, const int* addends, int count) {
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    if (threadIdx.x == 0) values[i] += addends[i];
  }
}

__global__ void wait_for_another(const std::uint64_t* word) {
  while (platform::load_across_blocks(word) == 0) platform::wait_for_blocks();
}

struct Stream {
  Stream() { REQUIRE(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess); }
  ~Stream() { CHECK(hipStreamDestroy(stream) == hipSuccess); }
  hipStream_t stream = nullptr;
};

}  // namespace

TEST_CASE("a graph does what was recorded, in order, as often as it is launched, and nothing before") {
  const Stream own;
  DeviceArray<int> value(std::vector<int>{5}), copy(std::vector<int>{0});
  hipGraph_t graph = nullptr;
  REQUIRE(hipStreamBeginCapture(own.stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
  hipLaunchKernelGGL(add, 1, 64, 0, own.stream, value.data(), 2);
  CHECK(hipMemcpyAsync(copy.data(), value.data(), sizeof(int), hipMemcpyDeviceToDevice, own.stream) ==
        hipSuccess);
  hipLaunchKernelGGL(add, 1, 64, 0, own.stream, value.data(), 10);
  CHECK(hipGetLastError() == hipSuccess);
  REQUIRE(hipStreamEndCapture(own.stream, &graph) == hipSuccess);
  CHECK(value.to_vector() == std::vector<int>{5});

  hipGraphExec_t executable = nullptr;
  REQUIRE(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == hipSuccess);
  CHECK(hipGraphDestroy(graph) == hipSuccess);
  CHECK(hipGraphDestroy(graph) == hipErrorInvalidValue);
  CHECK(value.to_vector() == std::vector<int>{5});
  for (int launch = 1; launch <= 3; ++launch) {
    CHECK(hipGraphLaunch(executable, own.stream) == hipSuccess);
    CHECK(value.to_vector() == std::vector<int>{5 + 12 * launch});
    CHECK(copy.to_vector() == std::vector<int>{5 + 12 * launch - 10});
  }
  CHECK(hipGraphExecDestroy(executable) == hipSuccess);
  CHECK(hipGraphLaunch(executable, own.stream) == hipErrorInvalidValue);
  hipLaunchKernelGGL(add, 1, 64, 0, own.stream, value.data(), 100);  // the stream works as before
  CHECK(value.to_vector() == std::vector<int>{141});
  (void)hipGetLastError();
}

TEST_CASE("what waits is refused while a stream is recorded, and so is what HIP refuses") {
  const Stream own;
  hipGraph_t graph = nullptr;
  CHECK(hipStreamEndCapture(own.stream, &graph) == hipErrorInvalidValue);
  CHECK(hipStreamBeginCapture(nullptr, hipStreamCaptureModeThreadLocal) == hipErrorStreamCaptureUnsupported);
  REQUIRE(hipStreamBeginCapture(own.stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
  CHECK(hipStreamBeginCapture(own.stream, hipStreamCaptureModeThreadLocal) == hipErrorInvalidValue);
  CHECK(hipStreamSynchronize(own.stream) == hipErrorStreamCaptureUnsupported);
  (void)hipGetLastError();
  hipLaunchKernelGGL(add, 1, 2000, 0, own.stream, nullptr, 1);
  CHECK(hipGetLastError() == hipErrorInvalidConfiguration);
  REQUIRE(hipStreamEndCapture(own.stream, &graph) == hipSuccess);
  CHECK(hipStreamSynchronize(own.stream) == hipSuccess);
  CHECK(hipGraphDestroy(graph) == hipSuccess);
}

TEST_CASE("a cooperative launch has as many blocks as run at once: one") {
  int blocks = 0;
  int units = 0;
  int cooperative = 0;
  const auto* kernel = reinterpret_cast<const void*>(add_in_blocks);
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0) == hipSuccess);
  CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0) == hipSuccess);
  CHECK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0) == hipSuccess);
  CHECK(blocks * units == 1);
  CHECK(cooperative == 1);
  DeviceArray<int> values(std::vector<int>{1, 2, 3});
  const DeviceArray<int> addends(std::vector<int>{10, 20, 30});
  int* to = values.data();
  const int* from = const_cast<DeviceArray<int>&>(addends).data();
  int count = 3;
  void* arguments[] = {&to, &from, &count};
  CHECK(hipLaunchCooperativeKernel(add_in_blocks, dim3(1), dim3(64), arguments, 0, nullptr) == hipSuccess);
  CHECK(values.to_vector() == std::vector<int>{11, 22, 33});
  CHECK(hipLaunchCooperativeKernel(add_in_blocks, dim3(2), dim3(64), arguments, 0, nullptr) ==
        hipErrorCooperativeLaunchTooLarge);
  CHECK(values.to_vector() == std::vector<int>{11, 22, 33});
  (void)hipGetLastError();
}

TEST_CASE("a wait for a block that does not run is told, and does not hang") {
  const DeviceArray<std::uint64_t> word(std::vector<std::uint64_t>{0});
  const std::string text = fault_of([&] {
    hipLaunchKernelGGL(wait_for_another, 1, 1, 0, nullptr,
                       const_cast<DeviceArray<std::uint64_t>&>(word).data());
  });
  CHECK(contains(text, "waits for what another block is to store"));
}

}  // namespace mnistd::gpu::emulator
