#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"
#include "tests/emulator/faults.h"

namespace mnistd::gpu::emulator {
namespace {

constexpr int kLeavesEarly = __LINE__;
__global__ void one_thread_leaves_early(unsigned leaver) {
  if (threadIdx.x == leaver) return;
  __syncthreads();
}

constexpr int kElsewhere = __LINE__;
__global__ void half_waits_elsewhere() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

constexpr int kLoop = __LINE__;
__global__ void loops_of_different_length() {
  for (unsigned i = 0; i <= threadIdx.x / 128; ++i) __syncthreads();
}

__global__ void tail_leaves_early(int count) {
  if (static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) >= count) return;
  __syncthreads();
}

}  // namespace

TEST_CASE("a barrier that one thread does not reach is named, with every seed") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    set_seed(seed);
    const std::string fault =
        fault_of([] { hipLaunchKernelGGL(one_thread_leaves_early, 3, 256, 0, nullptr, 77u); });
    CHECK(contains(fault, "the barrier at barrier_test.cpp:" + std::to_string(kLeavesEarly + 3) +
                              " is reached by 255 of 256 threads; thread 77 has ended"));
    CHECK(contains(fault, "kernel one_thread_leaves_early, block ("));
    CHECK(contains(fault, "of (3, 1, 1), thread (0, 0, 0) of (256, 1, 1), before its first barrier"));
    CHECK(contains(fault, "MNISTD_EMULATOR_SEED=" + std::to_string(seed)));
  }
}

TEST_CASE("threads at different barriers are a fault, though a count of them would open it") {
  const std::string fault = fault_of([] { hipLaunchKernelGGL(half_waits_elsewhere, 1, 64, 0, nullptr); });
  CHECK(contains(fault, "this one at barrier_test.cpp:" + std::to_string(kElsewhere + 5) +
                            ", thread 0 at barrier_test.cpp:" + std::to_string(kElsewhere + 3)));
}

TEST_CASE("a loop around a barrier must be equally long for all") {
  const std::string fault =
      fault_of([] { hipLaunchKernelGGL(loops_of_different_length, 1, 256, 0, nullptr); });
  CHECK(contains(fault, "is reached by 128 of 256 threads"));
  CHECK(contains(fault, "after the barrier at barrier_test.cpp:" + std::to_string(kLoop + 2)));
  CHECK_NOTHROW(hipLaunchKernelGGL(loops_of_different_length, 1, 128, 0, nullptr));
}

TEST_CASE("only the last block has a tail that leaves before the barrier") {
  CHECK_NOTHROW(hipLaunchKernelGGL(tail_leaves_early, 4, 64, 0, nullptr, 256));
  const std::string fault = fault_of([] { hipLaunchKernelGGL(tail_leaves_early, 4, 64, 0, nullptr, 255); });
  CHECK(contains(fault, "block (3, 0, 0) of (4, 1, 1)"));
}

}  // namespace mnistd::gpu::emulator
