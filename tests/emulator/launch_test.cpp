#include <algorithm>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "gpu/error.h"
#include "gpu/platform/emulator/sanitizers.h"
#include "tests/emulator/device_array.h"
#include "tests/emulator/faults.h"

namespace mnistd::gpu::emulator {
namespace {

// Objects of kernel threads that live.
int alive = 0;
int at_most_alive = 0;

struct Counted {
  Counted() : memory(100, 1) { at_most_alive = std::max(at_most_alive, ++alive); }
  Counted(const Counted&) = delete;
  ~Counted() {
    --alive;
    if (std::uncaught_exceptions() > 0) __syncthreads();  // must return at once
  }
  std::vector<int> memory;  // LeakSanitizer would miss it
};

__global__ void nothing() {}

__global__ void hold_and_wait(unsigned thrower) {
  const Counted counted;
  __syncthreads();
  if (threadIdx.x == thrower) throw std::runtime_error("thread " + std::to_string(thrower));
  const Counted more;
  __syncthreads();
}

__global__ void hold_and_fault(unsigned leaver) {
  const Counted counted;
  if (threadIdx.x == leaver) throw std::runtime_error("never waits");
  __shfl_xor(1, 1);
}

__global__ void launch_another() { hipLaunchKernelGGL(nothing, 1, 1, 0, nullptr); }

__global__ void sum_of_indices(unsigned* sum) {
  atomicAdd(sum, threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x + 10000 * blockIdx.y +
                     100000 * blockIdx.z + 0 * blockDim.x * gridDim.x);
}

template <class T, int addend>
__global__ void add(T* value, T other) {
  *value += other + addend;
}

__global__ void wait_twice(unsigned* counter) {
  __shared__ platform::Shared<unsigned, 64> cells;
  cells[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *counter += cells[63];
  __syncthreads();
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

hipError_t error_of(dim3 grid, dim3 block) {
  hipLaunchKernelGGL(nothing, grid, block, 0, nullptr);
  return hipGetLastError();
}

}  // namespace

TEST_CASE("launches that HIP refuses are refused, and the error is told once") {
  CHECK(error_of(1, 1024) == hipSuccess);
  CHECK(error_of(1, 1025) == hipErrorInvalidConfiguration);
  CHECK(error_of(1, dim3(32, 33)) == hipErrorInvalidConfiguration);
  CHECK(error_of(1, dim3(8, 8, 16)) == hipSuccess);
  CHECK(error_of(0, 64) == hipErrorInvalidConfiguration);
  CHECK(error_of(dim3(1, 0), 64) == hipErrorInvalidConfiguration);
  CHECK(error_of(1, 0) == hipErrorInvalidConfiguration);
  CHECK(error_of(0xffffffff, 64) == hipErrorInvalidConfiguration);
  CHECK(error_of(1, dim3(0x10000, 0x10000)) == hipErrorInvalidConfiguration);
  CHECK(hipGetLastError() == hipSuccess);
  CHECK(contains(fault_of([] { hipLaunchKernelGGL(nothing, 1, 1, 16, nullptr); }), "dynamic shared memory"));
}

TEST_CASE("every thread of every block runs once, in three dimensions") {
  DeviceArray<unsigned> sum(std::vector<unsigned>{0});
  hipLaunchKernelGGL(sum_of_indices, dim3(2, 3, 4), dim3(5, 6, 7), 0, nullptr, sum.data());
  unsigned expected = 0;
  for (unsigned i = 0; i < 2 * 3 * 4; ++i)
    for (unsigned j = 0; j < 5 * 6 * 7; ++j)
      expected +=
          j % 5 + 10 * (j / 5 % 6) + 100 * (j / 30) + 1000 * (i % 2) + 10000 * (i / 2 % 3) + 100000 * (i / 6);
  CHECK(sum.to_vector()[0] == expected);
}

TEST_CASE("a kernel may be a template, and its arguments are converted") {
  DeviceArray<double> value(std::vector<double>{1.5});
  hipLaunchKernelGGL((add<double, 3>), dim3(1), dim3(1), 0, nullptr, value.data(), 2);
  CHECK(value.to_vector()[0] == 6.5);
}

TEST_CASE("an exception of a kernel comes out of the launch, and every stack is unwound") {
  alive = at_most_alive = 0;
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS_WITH_AS(hipLaunchKernelGGL(hold_and_wait, 3, 200, 0, nullptr, 99u), "thread 99",
                         std::runtime_error);
    CHECK(alive == 0);
  }
  CHECK(at_most_alive > 200);
  CHECK_NOTHROW(hipLaunchKernelGGL(hold_and_wait, 3, 200, 0, nullptr, 200u));
  CHECK(alive == 0);
}

TEST_CASE("a fault unwinds stacks too, and is a DeviceError") {
  alive = at_most_alive = 0;
  CHECK_THROWS(hipLaunchKernelGGL(hold_and_fault, 1, 64, 0, nullptr, 9u));
  CHECK(alive == 0);
  CHECK_THROWS_AS(hipLaunchKernelGGL(hold_and_fault, 1, 63, 0, nullptr, 64u), DeviceError);
  CHECK(alive == 0);
  CHECK(at_most_alive >= 31);
  CHECK_NOTHROW(hipLaunchKernelGGL(nothing, 1, 64, 0, nullptr));
}

TEST_CASE("a launch within a kernel is refused") {
  CHECK_THROWS_AS(hipLaunchKernelGGL(launch_another, 1, 1, 0, nullptr), std::logic_error);
}

TEST_CASE("a launch while an exception is handled") {
  DeviceArray<unsigned> counter(std::vector<unsigned>{0});
  try {
    throw std::runtime_error("the host's");
  } catch (const std::runtime_error& error) {
    CHECK_THROWS(hipLaunchKernelGGL(hold_and_wait, 1, 64, 0, nullptr, 3u));
    hipLaunchKernelGGL(wait_twice, 1, 64, 0, nullptr, counter.data());
    CHECK(std::string(error.what()) == "the host's");
  }
  CHECK(counter.to_vector()[0] == 63);
}

TEST_CASE("threads of the host take turns") {
  DeviceArray<unsigned> counter(std::vector<unsigned>{0});
  std::vector<std::thread> hosts;
  for (int host = 0; host < 3; ++host)
    hosts.emplace_back([&counter] {
      for (int i = 0; i < 20; ++i) hipLaunchKernelGGL(wait_twice, 2, 64, 0, nullptr, counter.data());
    });
  for (std::thread& host : hosts) host.join();
  CHECK(counter.to_vector()[0] == 3 * 20 * 2 * 63);
}

TEST_CASE("ten thousand small launches need no more memory than one hundred") {
  DeviceArray<unsigned> counter(std::vector<unsigned>{0});
  const auto launch_often = [&](int times) {
    for (int i = 0; i < times; ++i) hipLaunchKernelGGL(wait_twice, 1, 64, 0, nullptr, counter.data());
  };
  launch_often(100);
  const std::size_t before = resident_bytes();
  const int times = kThreadSanitizer ? 300 : 10000;  // each of its switches is a hundred of ours
  launch_often(times);
  // The sanitizers keep what is freed for a while; that nothing is lost LeakSanitizer tells.
  if (!kAddressSanitizer && !kThreadSanitizer) CHECK(resident_bytes() < before + 1024 * 1024);
  CHECK(counter.to_vector()[0] == static_cast<unsigned>(100 + times) * 63);
}

}  // namespace mnistd::gpu::emulator
