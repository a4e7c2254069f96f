#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/kernels/variants.h"
#include "gpu/platform/platform.h"
#include "tests/hip/device_under_test.h"

namespace mnistd::gpu {
namespace {

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> values(bytes);
  std::uint32_t state = 1;
  for (std::uint8_t& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<std::uint8_t>(state >> 24);
  }
  return values;
}

// The message of the NoSuchDevice that opening so throws.
std::string refusal(const DeviceOptions& options) {
  try {
    hip::open_device(options);
  } catch (const NoSuchDevice& none) {
    return none.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a device says what it is") {
  const auto device = open_under_test();
  const DeviceInfo& info = device->info();
  CHECK(info.backend == "hip");
  CHECK_FALSE(info.name.empty());
  CHECK_FALSE(info.architecture.empty());
  CHECK(info.architecture.find(':') == std::string::npos);
  CHECK_FALSE(info.driver.empty());
  CHECK((info.wavefront == 32 || info.wavefront == 64));
  CHECK(info.compute_units >= 1);
  CHECK(info.memory_bytes >= 64u << 20);
  CHECK(device->pipeline_depth() > 1);
#if defined(MNISTD_EMULATOR_WAVEFRONT)
  CHECK(info.wavefront == MNISTD_EMULATOR_WAVEFRONT);
#endif
}

TEST_CASE("devices are numbered from 0") {
  CHECK(refusal({.index = 0}).empty());
  for (int index : {-2, 1000}) {
    const std::string message = refusal({.index = index});
    CHECK(message.find("asked for number " + std::to_string(index)) != std::string::npos);
  }
}

TEST_CASE("bytes survive the way there and back, at sizes around the staging halves") {
  const auto device = open_under_test();
  constexpr std::size_t kHalf = std::size_t{4} << 20;
  for (std::size_t bytes : {std::size_t{1}, kHalf - 1, kHalf, kHalf + 1, 2 * kHalf, 3 * kHalf + 12345}) {
    CAPTURE(bytes);
    std::vector<std::uint8_t> values = pattern(bytes);
    const std::vector<std::uint8_t> kept = values;
    Buffer<std::uint8_t> buffer(*device, std::span<const std::uint8_t>(values));
    values.assign(bytes, 0);  // upload may read them only until it returns
    CHECK(buffer.to_vector() == kept);
    device->fill_zero(buffer.data(), bytes);
    CHECK(buffer.to_vector() == values);
  }
}

TEST_CASE("device memory is aligned to 256 bytes and counted") {
  const auto device = open_under_test();
  const std::uint64_t before = device->memory_in_use();
  std::vector<void*> blocks;
  std::uint64_t sum = 0;
  for (std::size_t bytes : {0u, 1u, 255u, 256u, 100000u}) {
    blocks.push_back(device->allocate(bytes));
    sum += bytes;
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()) % 256 == 0);
    CHECK(device->memory_in_use() == before + sum);
    device->fill_zero(blocks.back(), bytes);
  }
  for (void* block : blocks) device->release(block);
  CHECK(device->memory_in_use() == before);
  device->release(nullptr);
  CHECK(device->memory_in_use() == before);
}

TEST_CASE("no room: named, counted, and the device stays usable") {
  const auto device = open_under_test();
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const std::size_t in_all = static_cast<std::size_t>(device->info().memory_bytes);
  for (std::size_t bytes : {kMost, kMost / 16, in_all + 1}) {
    CAPTURE(bytes);
    try {
      Buffer<std::uint8_t> buffer(*device, bytes);
      FAIL("allocated more than there is");
    } catch (const OutOfDeviceMemory& full) {
      CHECK(full.requested_bytes() == bytes);
      CHECK(std::string(full.what()).find(std::to_string(bytes)) != std::string::npos);
    }
  }
  CHECK(device->memory_in_use() == 0);
  Buffer<float> weights(*device, kWeights);
  device->ops().initialise(weights.data(), 1);  // a launch does not find the old error
  CHECK(weights.to_vector()[0] != 0.0f);
}

TEST_CASE("events measure time on the device") {
  const auto device = open_under_test();
  Buffer<float> weights(*device, kWeights);
  const Event begin = device->record();
  for (std::uint32_t seed = 0; seed < 20; ++seed) device->ops().initialise(weights.data(), seed);
  const Event end = device->record();
  const double elapsed = device->elapsed_ms(begin, end);
  CHECK(elapsed > 0.0);
  CHECK(elapsed < 60000.0);
  CHECK(device->elapsed_ms(end, begin) == -elapsed);
  CHECK(device->elapsed_ms(end, end) == 0.0);
}

TEST_CASE("the last 64 events are kept") {
  const auto device = open_under_test();
  CHECK_THROWS_AS(device->elapsed_ms(Event{}, Event{}), DeviceError);
  const Event first = device->record();
  Event last = first;
  for (int i = 1; i < 64; ++i) last = device->record();
  CHECK(device->elapsed_ms(first, last) >= 0.0);
  last = device->record();
  CHECK_THROWS_AS(device->elapsed_ms(first, last), DeviceError);
  CHECK_THROWS_AS(device->elapsed_ms(last, Event{last.id + 1}), DeviceError);
}

TEST_CASE("a device may be used by another thread than the one that opened it") {
  const auto device = open_under_test();
  std::vector<float> found;
  std::thread([&] {
    Buffer<float> weights(*device, kWeights);
    device->ops().initialise(weights.data(), 1234567);
    found = weights.to_vector();
  }).join();
  CHECK(found[0] == static_cast<float>(0.001718311905860901));
}

TEST_CASE("two devices at once") {
  const auto one = open_under_test();
  const auto other = open_under_test();
  Buffer<float> left(*one, kWeights);
  Buffer<float> right(*other, kWeights);
  one->ops().initialise(left.data(), 7);
  other->ops().initialise(right.data(), 7);
  CHECK(left.to_vector() == right.to_vector());
}

TEST_CASE("a kernel that is not there is refused by name") {
  for (const char* kernel :
       {"residual=9-magic", "gradient", "residual=", "step=1", "residual=1-plain,,", ","}) {
    CAPTURE(kernel);
    CHECK_THROWS_AS(open_under_test(kernel), DeviceError);
  }
  try {
    open_under_test("residual=9-magic");
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    CHECK(message.find("residual=9-magic") != std::string::npos);
    CHECK(message.find("1-plain, 2-tiled") != std::string::npos);
  }
}

TEST_CASE("the last variant is used unless one is forced") {
  const kernels::Setting setting = {"gfx906", 64};
  const kernels::Choice choice = kernels::choose_variants(setting, "");
  CHECK(choice.residual == &kernels::residual_variants().back());
  CHECK(choice.gradient == &kernels::gradient_variants().back());
  CHECK(std::string(choice.gram->name) == "2-dot4");
  CHECK(std::string(choice.gram_step->name) == "2-one-launch");  // where blocks cannot cooperate
  CHECK(kernels::choose_variants({"gfx906", 64, true}, "").gram_step ==
        &kernels::gram_step_variants().back());
  CHECK_THROWS_AS(kernels::choose_variants(setting, "gram_step=3-cooperative"), DeviceError);
  const kernels::Choice forced = kernels::choose_variants(setting, "gradient=1-plain");
  CHECK(forced.residual == choice.residual);
  CHECK(forced.gradient == &kernels::gradient_variants().front());
}

}  // namespace mnistd::gpu
