// Results that depend on the order of threads show: they change with the seed, and with nothing else.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"

namespace mnistd::gpu::emulator {
namespace {

using Order = std::vector<std::uint32_t>;

__global__ void last_writer_wins(std::uint32_t* last) { *last = blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void queue_up(std::uint32_t* counter, std::uint32_t* order) {
  order[atomicAdd(counter, 1u)] = blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void queue_up_after_a_barrier(std::uint32_t* counter, std::uint32_t* order) {
  __syncthreads();
  queue_up(counter, order);
}

std::uint32_t last_of(std::uint64_t seed) {
  set_seed(seed);
  DeviceArray<std::uint32_t> last(1);
  hipLaunchKernelGGL(last_writer_wins, 4, 100, 0, nullptr, last.data());
  return last.to_vector()[0];
}

Order order_of(void (*kernel)(std::uint32_t*, std::uint32_t*), std::uint64_t seed) {
  set_seed(seed);
  DeviceArray<std::uint32_t> counter(Order{0}), order(400);
  hipLaunchKernelGGL(kernel, 4, 100, 0, nullptr, counter.data(), order.data());
  return order.to_vector();
}

}  // namespace

TEST_CASE("which thread is the last differs from seed to seed") {
  std::set<std::uint32_t> last, last_block;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    last.insert(last_of(seed));
    last_block.insert(last_of(seed) / 100);
  }
  CHECK(last.size() > 25);
  CHECK(last_block.size() == 4);
}

TEST_CASE("a seed gives one order, another seed another") {
  for (auto* kernel : {queue_up, queue_up_after_a_barrier}) {
    const Order first = order_of(kernel, 1), again = order_of(kernel, 1), other = order_of(kernel, 2);
    CHECK(first == again);
    CHECK(first != other);
    Order all(400);
    std::iota(all.begin(), all.end(), 0u);
    for (Order order : {first, other}) {
      std::sort(order.begin(), order.end());
      CHECK(order == all);
    }
  }
}

TEST_CASE("one launch after the other has orders of its own") {
  const Order first = order_of(queue_up, 5);
  DeviceArray<std::uint32_t> counter(Order{0}), order(400);
  hipLaunchKernelGGL(queue_up, 4, 100, 0, nullptr, counter.data(), order.data());
  CHECK(order.to_vector() != first);
}

}  // namespace mnistd::gpu::emulator
