#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/device.h"

namespace mnistd::gpu {
namespace {

const DeviceOptions kCpu = {.backend = Backend::cpu, .threads = 1};

}  // namespace

TEST_CASE("a buffer carries values there and back") {
  const auto device = Device::open(kCpu);
  const std::vector<int> values = {3, 1, 4, 1, 5};
  Buffer<int> buffer(*device, std::span<const int>(values));
  CHECK(buffer.size() == 5);
  CHECK(buffer.to_vector() == values);

  const std::vector<int> two = {8, 9};
  buffer.upload(two);
  CHECK(buffer.to_vector() == std::vector<int>{8, 9, 4, 1, 5});
  std::vector<int> first(1);
  buffer.download(first);
  CHECK(first[0] == 8);
  device->fill_zero(buffer.data(), 2 * sizeof(int));
  CHECK(buffer.to_vector() == std::vector<int>{0, 0, 4, 1, 5});
}

TEST_CASE("copies of more than a buffer holds") {
  const auto device = Device::open(kCpu);
  Buffer<int> buffer(*device, 4);
  std::vector<int> five(5);
  CHECK_THROWS_AS(buffer.upload(five), std::length_error);
  CHECK_THROWS_AS(buffer.download(five), std::length_error);
  Buffer<int> none;
  CHECK_THROWS_AS(none.upload(five), std::length_error);
}

TEST_CASE("moving a buffer moves the memory and frees it once") {
  const auto device = Device::open(kCpu);
  const std::uint64_t before = device->memory_in_use();
  {
    Buffer<float> a(*device, 1000);
    const float* memory = a.data();
    Buffer<float> b(std::move(a));
    CHECK(a.data() == nullptr);
    CHECK(a.size() == 0);
    CHECK(b.data() == memory);
    CHECK(b.size() == 1000);
    CHECK(device->memory_in_use() == before + 4000);

    Buffer<float> c(*device, 10);
    CHECK(device->memory_in_use() == before + 4040);
    c = std::move(b);
    CHECK(c.data() == memory);
    CHECK(b.data() == nullptr);
    CHECK(device->memory_in_use() == before + 4000);
    c = Buffer<float>();
    CHECK(device->memory_in_use() == before);
  }
  CHECK(device->memory_in_use() == before);
}

TEST_CASE("an empty buffer") {
  const auto device = Device::open(kCpu);
  Buffer<double> empty(*device, 0);
  CHECK(empty.size() == 0);
  CHECK(empty.to_vector().empty());
  empty.upload({});
  Buffer<double> none;
  CHECK(none.to_vector().empty());
  none.upload({});
}

TEST_CASE("no room: named, counted, and the device stays usable") {
  const auto device = Device::open(kCpu);
  const std::uint64_t before = device->memory_in_use();
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  // The second of them wraps to a few bytes when multiplied by the size of a double.
  for (std::size_t count : {kMost, kMost / sizeof(double) + 2, kMost / sizeof(double), kMost / 64}) {
    CAPTURE(count);
    CHECK_THROWS_AS(Buffer<double>(*device, count), OutOfDeviceMemory);
  }
  const std::size_t in_all = static_cast<std::size_t>(device->info().memory_bytes);
  try {
    Buffer<std::uint8_t> buffer(*device, in_all + 1);
    FAIL("allocated more than there is");
  } catch (const OutOfDeviceMemory& full) {
    CHECK(full.requested_bytes() == in_all + 1);
  }
  CHECK(device->memory_in_use() == before);
  const std::vector<int> values = {1, 2};
  CHECK(Buffer<int>(*device, std::span<const int>(values)).to_vector() == values);
}

}  // namespace mnistd::gpu
