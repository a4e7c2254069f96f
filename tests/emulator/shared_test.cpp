#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/platform/emulator/sanitizers.h"
#include "tests/emulator/device_array.h"
#include "tests/emulator/faults.h"

namespace mnistd::gpu::emulator {
namespace {

constexpr unsigned kThreads = 128;

constexpr int kUseAt = __LINE__;
__global__ void use_at(int row, int column, bool write) {
  __shared__ platform::Shared<float, 16, 65> tile;
  if (write) {
    tile[row][column] = 1;
  } else {
    const float value = tile[row][column];
    (void)value;
  }
}

__global__ void read_what_a_block_before_wrote(bool write) {
  __shared__ platform::Shared<int, 4> values;
  if (write) values[threadIdx.x] = 7;
  __syncthreads();
  const int value = values[threadIdx.x];
  (void)value;
}

// Writes, then reads the neighbour's, with or without the barrier between; then writes again.
constexpr int kRotate = __LINE__;
__global__ void rotate(int* result, bool before_read, bool before_write) {
  __shared__ platform::Shared<int, kThreads> values;
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (before_read) __syncthreads();
  const int neighbour = values[(threadIdx.x + 1) % kThreads];
  if (before_write) __syncthreads();
  values[threadIdx.x] = neighbour;
  __syncthreads();
  result[threadIdx.x] = values[threadIdx.x];
}

__global__ void write_one_cell(unsigned divisor) {
  __shared__ platform::Shared<unsigned> cell;
  cell = threadIdx.x / divisor;
}

__global__ void mix_atomic_and_plain(bool read) {
  __shared__ platform::Shared<unsigned> count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1u);
  if (read && threadIdx.x == 3) {
    const unsigned seen = count;
    (void)seen;
  }
}

__global__ void atomic_on_unwritten() {
  __shared__ platform::Shared<unsigned, 2> counts;
  atomicMax(&counts[1], 1u);
}

__global__ void arithmetic(float* result) {
  __shared__ platform::Shared<float, 2, 3> cells;
  __shared__ platform::Shared<int> number;
  cells[0][0] = 2;
  cells[0][1] = cells[0][0];
  cells[0][1] += 1.5f;
  cells[1][2] = cells[0][1] * cells[0][0];
  cells[1][2] -= 0.5f;
  cells[1][2] *= 3.0f;
  number = 40;
  ++number;
  number |= 2;
  result[0] = fmaf(cells[0][0], cells[0][1], max(cells[1][2], 0.0f));
  result[1] = static_cast<float>(number + 0);
}

}  // namespace

TEST_CASE("elements behave as their values do") {
  DeviceArray<float> result(2);
  hipLaunchKernelGGL(arithmetic, 1, 1, 0, nullptr, result.data());
  CHECK(result.to_vector() == std::vector<float>{2 * 3.5f + (7 - 0.5f) * 3, 43});
}

TEST_CASE("an index past the end of any dimension is named") {
  const auto fault = [](int row, int column) {
    return fault_of([=] { hipLaunchKernelGGL(use_at, 1, 1, 0, nullptr, row, column, true); });
  };
  CHECK(contains(
      fault(3, 65),
      "shared memory Shared<float, 16, 65> is used at [3][65], past its 65 elements in dimension 1"));
  CHECK(contains(fault(16, 0),
                 "shared memory Shared<float, 16, 65> is used at [16], past its 16 elements in dimension 0"));
  CHECK(contains(fault(0, -1), "is used at [0][-1]"));
  CHECK(contains(fault(-1, 0), "is used at [-1]"));
  CHECK(contains(fault(3, 65), "kernel use_at, block (0, 0, 0) of (1, 1, 1), thread (0, 0, 0) of (1, 1, 1)"));
  if (kAddressSanitizer)
    CHECK(contains(fault(3, 65), "at shared_test.cpp:" + std::to_string(kUseAt + 4) + ";"));
  CHECK_NOTHROW(hipLaunchKernelGGL(use_at, 1, 1, 0, nullptr, 15, 64, true));
}

TEST_CASE("a read before a write, though a launch or a block before wrote there") {
  hipLaunchKernelGGL(use_at, 1, 1, 0, nullptr, 2, 7, true);
  CHECK(contains(fault_of([] { hipLaunchKernelGGL(use_at, 1, 1, 0, nullptr, 2, 7, false); }),
                 "shared memory Shared<float, 16, 65> [2][7] is read before this block has written it"));
  CHECK_NOTHROW(hipLaunchKernelGGL(read_what_a_block_before_wrote, 5, 4, 0, nullptr, true));
  CHECK(
      contains(fault_of([] { hipLaunchKernelGGL(read_what_a_block_before_wrote, 1, 4, 0, nullptr, false); }),
               "is read before this block has written it"));
  CHECK(contains(fault_of([] { hipLaunchKernelGGL(atomic_on_unwritten, 1, 1, 0, nullptr); }),
                 "Shared<unsigned int, 2> [1] is read before this block has written it"));
}

TEST_CASE("a missing barrier is found whatever the order of threads") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    set_seed(seed);
    DeviceArray<int> result(kThreads);
    hipLaunchKernelGGL(rotate, 2, kThreads, 0, nullptr, result.data(), true, true);
    for (unsigned i = 0; i < kThreads; ++i)
      CHECK(result.to_vector()[i] == static_cast<int>((i + 1) % kThreads));

    // Without the first, a read may come before any write, or in the midst of them.
    const std::string first =
        fault_of([&] { hipLaunchKernelGGL(rotate, 1, kThreads, 0, nullptr, result.data(), false, true); });
    CHECK((first.find("no barrier lies between") != std::string::npos ||
           first.find("is read before this block has written it") != std::string::npos));
    const std::string second =
        fault_of([&] { hipLaunchKernelGGL(rotate, 1, kThreads, 0, nullptr, result.data(), true, false); });
    CHECK(contains(second, "no barrier lies between"));
    CHECK(contains(second, "after the barrier at shared_test.cpp:" + std::to_string(kRotate + 4)));
  }
}

TEST_CASE("two values written to one cell conflict, one value does not") {
  CHECK_NOTHROW(hipLaunchKernelGGL(write_one_cell, 3, kThreads, 0, nullptr, kThreads));
  CHECK(contains(fault_of([] { hipLaunchKernelGGL(write_one_cell, 1, kThreads, 0, nullptr, kThreads - 1); }),
                 "Shared<unsigned int> is written by this thread, and with another value by"));
}

TEST_CASE("atomic operations go with one another, not with plain ones") {
  CHECK_NOTHROW(hipLaunchKernelGGL(mix_atomic_and_plain, 2, kThreads, 0, nullptr, false));
  CHECK(contains(fault_of([] { hipLaunchKernelGGL(mix_atomic_and_plain, 1, kThreads, 0, nullptr, true); }),
                 "no barrier lies between"));
}

}  // namespace mnistd::gpu::emulator
