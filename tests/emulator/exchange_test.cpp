#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"
#include "tests/emulator/faults.h"

namespace mnistd::gpu::emulator {
namespace {

constexpr unsigned kLanes = kWavefront;

enum class Operation { shuffle, up, down, by_mask };

// Each lane's value is 1000 + its number in the block.
__global__ void exchange_once(Operation operation, int operand, int width, int* received) {
  const int mine = 1000 + static_cast<int>(threadIdx.x);
  int result = 0;
  if (operation == Operation::shuffle) result = __shfl(mine, operand, width);
  if (operation == Operation::up) result = __shfl_up(mine, static_cast<unsigned>(operand), width);
  if (operation == Operation::down) result = __shfl_down(mine, static_cast<unsigned>(operand), width);
  if (operation == Operation::by_mask) result = __shfl_xor(mine, operand, width);
  received[threadIdx.x] = result;
}

std::vector<int> received(Operation operation, int operand, int width, unsigned threads = 2 * kLanes) {
  DeviceArray<int> device(threads);
  hipLaunchKernelGGL(exchange_once, 1, threads, 0, nullptr, operation, operand, width, device.data());
  return device.to_vector();
}

// HIP's definition: amd_warp_functions.h, by the number of the lane in the block.
int expected_lane(Operation operation, int self, int operand, int width) {
  const int wavefront = self / kWavefront * kWavefront, lane = self % kWavefront;
  int index = 0;
  if (operation == Operation::shuffle) index = (operand + (lane & ~(width - 1))) % kWavefront;
  if (operation == Operation::up) index = lane - operand < (lane & ~(width - 1)) ? lane : lane - operand;
  if (operation == Operation::down) index = (lane & (width - 1)) + operand >= width ? lane : lane + operand;
  if (operation == Operation::by_mask)
    index = (lane ^ operand) >= ((lane + width) & ~(width - 1)) ? lane : lane ^ operand;
  return wavefront + index;
}

__global__ void types(double* doubles, long long* longs, unsigned* words, float* floats) {
  const unsigned thread = threadIdx.x;
  doubles[thread] = __shfl_xor(thread + 0.125, 1);
  longs[thread] = __shfl_xor(-(1LL << 40) - thread, 1);
  words[thread] = __shfl_xor(0xfffffff0u + thread % 2, 1);
  floats[thread] = __shfl_xor(static_cast<float>(thread) + 0.5f, 1);
}

constexpr int kLaneHasLeft = __LINE__;
__global__ void lane_has_left() {
  if (threadIdx.x == 5) return;
  __shfl_xor(1, 1);
}

constexpr int kAtABarrier = __LINE__;
__global__ void lane_waits_at_a_barrier(float* result) {
  float value = 1;
  if (threadIdx.x % kLanes < 16) value = __shfl_down(value, 16);
  __syncthreads();
  result[threadIdx.x] = value;
}

constexpr int kAtAnotherLine = __LINE__;
__global__ void lane_waits_at_another_line(int* result) {
  if (threadIdx.x % 2 == 0) {
    result[threadIdx.x] = __shfl_xor(1, 1);
  } else {
    result[threadIdx.x] = __shfl_xor(2, 1);
  }
}

__global__ void active_lanes(unsigned long long* results) {
  const unsigned lane = threadIdx.x % kLanes;
  unsigned long long votes = 0;
  if (lane % 2 == 0) {
    votes = __ballot(1);
  } else {
    votes = __ballot(lane < 8);
  }
  results[threadIdx.x] = votes;
}

// Lane i goes round i + 1 times; those that left wait for the others.
__global__ void ballot_in_a_loop(int* rounds, unsigned long long* together) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  int counted = 0;
  for (int i = 0; i <= lane; ++i) counted += __popcll(__ballot(1));
  rounds[threadIdx.x] = counted;
  together[threadIdx.x] = __ballot(1);
}

}  // namespace

TEST_CASE("lanes read what HIP defines, within the wavefront and at its ends") {
  for (int width : {2, 8, 32, kWavefront})
    for (int operand : {0, 1, 5, 7, 31, 33, 63, 64, 70})
      for (Operation operation : {Operation::shuffle, Operation::up, Operation::down, Operation::by_mask}) {
        if (operation == Operation::shuffle && operand >= width && width < kWavefront) continue;
        CAPTURE(width);
        CAPTURE(operand);
        CAPTURE(static_cast<int>(operation));
        const std::vector<int> result = received(operation, operand, width);
        for (int self = 0; self < 2 * kWavefront; ++self)
          CHECK(result[static_cast<std::size_t>(self)] ==
                1000 + expected_lane(operation, self, operand, width));
      }
}

TEST_CASE("a lane outside of a narrow segment, and a width that is none, are faults") {
  CHECK(contains(fault_of([] { received(Operation::shuffle, 8, 8); }),
                 "__shfl reads lane 8 of a segment of 8 lanes"));
  CHECK(contains(fault_of([] { received(Operation::shuffle, -1, 8); }), "lane -1"));
  CHECK(contains(fault_of([] { received(Operation::down, 1, 12); }), "with a width of 12"));
  CHECK(contains(fault_of([] { received(Operation::down, 1, 2 * kWavefront); }), "power of two up to"));
}

TEST_CASE("values of four and eight bytes keep their bits") {
  const unsigned threads = kLanes;
  DeviceArray<double> doubles(threads);
  DeviceArray<long long> longs(threads);
  DeviceArray<unsigned> words(threads);
  DeviceArray<float> floats(threads);
  hipLaunchKernelGGL(types, 1, threads, 0, nullptr, doubles.data(), longs.data(), words.data(),
                     floats.data());
  for (unsigned i = 0; i < threads; ++i) {
    CHECK(doubles.to_vector()[i] == (i ^ 1) + 0.125);
    CHECK(longs.to_vector()[i] == -(1LL << 40) - (i ^ 1));
    CHECK(words.to_vector()[i] == 0xfffffff1u - i % 2);
    CHECK(floats.to_vector()[i] == static_cast<float>(i ^ 1) + 0.5f);
  }
}

TEST_CASE("a shuffle that reads a lane whose thread has ended") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    set_seed(seed);
    const std::string fault = fault_of([] { hipLaunchKernelGGL(lane_has_left, 1, kLanes, 0, nullptr); });
    CHECK(contains(fault, "__shfl_xor at exchange_test.cpp:" + std::to_string(kLaneHasLeft + 3) +
                              " reads lane 5 of the wavefront, which is not active: its thread has ended; "
                              "kernel lane_has_left, block (0, 0, 0) of (1, 1, 1), thread (4, 0, 0)"));
  }
}

TEST_CASE("a shuffle that reads a lane that the block does not have") {
  CHECK_NOTHROW(received(Operation::by_mask, 1, kWavefront, kLanes + 6));
  CHECK(contains(fault_of([] { received(Operation::by_mask, 1, kWavefront, kLanes + 5); }),
                 "reads lane 5 of the wavefront, which is not active: the block has only " +
                     std::to_string(kLanes + 5)));
}

TEST_CASE("a shuffle that reads a lane that waits elsewhere") {
  DeviceArray<float> floats(kLanes);
  CHECK(contains(
      fault_of([&] { hipLaunchKernelGGL(lane_waits_at_a_barrier, 1, kLanes, 0, nullptr, floats.data()); }),
      "which is not active: its thread waits at the barrier at exchange_test.cpp:" +
          std::to_string(kAtABarrier + 4)));
  DeviceArray<int> ints(kLanes);
  CHECK(contains(
      fault_of([&] { hipLaunchKernelGGL(lane_waits_at_another_line, 1, kLanes, 0, nullptr, ints.data()); }),
      "__shfl_xor at exchange_test.cpp:" + std::to_string(kAtAnotherLine + 3) + " reads lane"));
}

TEST_CASE("a ballot is of the lanes that take part in it") {
  DeviceArray<unsigned long long> results(kLanes);
  hipLaunchKernelGGL(active_lanes, 1, kLanes, 0, nullptr, results.data());
  const unsigned long long even = kLanes == 64 ? 0x5555555555555555u : 0x55555555u;
  const std::vector<unsigned long long> votes = results.to_vector();
  for (unsigned lane = 0; lane < kLanes; ++lane) CHECK(votes[lane] == (lane % 2 == 0 ? even : 0xaau));
}

TEST_CASE("lanes that leave a loop early wait for the others") {
  DeviceArray<int> rounds(kLanes);
  DeviceArray<unsigned long long> together(kLanes);
  hipLaunchKernelGGL(ballot_in_a_loop, 1, kLanes, 0, nullptr, rounds.data(), together.data());
  const std::vector<int> counts = rounds.to_vector();
  const std::vector<unsigned long long> votes = together.to_vector();
  int expected = 0;
  for (int lane = 0; lane < kWavefront; ++lane) {
    expected += kWavefront - lane;
    CHECK(counts[static_cast<std::size_t>(lane)] == expected);
    CHECK(__popcll(votes[static_cast<std::size_t>(lane)]) == kWavefront);
  }
}

}  // namespace mnistd::gpu::emulator
