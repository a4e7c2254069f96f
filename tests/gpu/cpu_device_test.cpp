#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/device.h"

namespace mnistd::gpu {
namespace {

const DeviceOptions kCpu = {.backend = Backend::cpu, .threads = 1};

}  // namespace

TEST_CASE("device memory is aligned to a cache line and counted") {
  const auto device = Device::open(kCpu);
  const std::uint64_t before = device->memory_in_use();
  std::vector<void*> blocks;
  std::uint64_t sum = 0;
  for (std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 100000u}) {
    blocks.push_back(device->allocate(bytes));
    sum += bytes;
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()) % 64 == 0);
    CHECK(device->memory_in_use() == before + sum);
    device->fill_zero(blocks.back(), bytes);
  }
  for (void* block : blocks) device->release(block);
  CHECK(device->memory_in_use() == before);
  device->release(nullptr);
  CHECK(device->memory_in_use() == before);
}

TEST_CASE("events measure time") {
  const auto device = Device::open(kCpu);
  const Event begin = device->record();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Event end = device->record();
  const double elapsed = device->elapsed_ms(begin, end);
  CHECK(elapsed >= 20.0);
  CHECK(elapsed < 20000.0);
  CHECK(device->elapsed_ms(end, begin) == -elapsed);
  CHECK(device->elapsed_ms(end, end) == 0.0);
}

TEST_CASE("the last 64 events are kept") {
  const auto device = Device::open(kCpu);
  CHECK_THROWS_AS(device->elapsed_ms(Event{}, Event{}), DeviceError);
  const Event first = device->record();
  Event last = first;
  for (int i = 1; i < 64; ++i) last = device->record();
  CHECK(device->elapsed_ms(first, last) >= 0.0);
  last = device->record();
  CHECK_THROWS_AS(device->elapsed_ms(first, last), DeviceError);
  CHECK_THROWS_AS(device->elapsed_ms(last, Event{last.id + 1}), DeviceError);
}

}  // namespace mnistd::gpu
