// What a device says it reaches: figures that can be.
#include "gpu/cpu/limits.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/simd_kernels.h"
#include "gpu/device.h"

namespace mnistd::gpu {
namespace {

const DeviceOptions kCpu = {.backend = Backend::cpu, .threads = 1};

}  // namespace

TEST_CASE("limits are positive and finite, and not beyond any processor") {
  const auto device = Device::open(kCpu);
  const std::uint64_t before = device->memory_in_use();
  const Limits limits = device->measure_limits();
  for (double limit : {limits.bytes, limits.flops, limits.byte_operations}) {
    CHECK(limit > 1e6);
    CHECK(limit < 1e12);  // of one thread
  }
  CHECK(device->memory_in_use() == before);
}

TEST_CASE("the loops of the limits compute what they should") {
  // Each float chain tends to 0.5 / (1 − 0.999) = 500, and there are twelve in each lane.
  const cpu::LoopResult floats = cpu::float_loop(100'000);
  const double lanes = floats.operations / 2 / 12 / 100'000;
  CHECK(lanes == std::floor(lanes));
  CHECK(lanes >= 1);
  CHECK(std::fabs(floats.value / (12 * 500 * lanes) - 1) < 1e-3);

  // A round of a chain whose halves are v and 0: v + 3·v. 1 becomes 4, 16, 64; the chains begin at rounds, rounds + 1 ….
  const cpu::LoopResult bytes = cpu::byte_loop(3);
  const double integers = cpu::vector_unit().floats;
  double expected = 0;
  for (int chain = 0; chain < 10; ++chain) expected += 64.0 * (3 + chain);
  CHECK(bytes.value == expected * integers);
}

TEST_CASE("scratch memory is counted as the operations need it") {
  for (const bool reference : {false, true}) {
    DeviceOptions options = kCpu;
    options.reference = reference;
    const auto device = Device::open(options);
    const int images = 2000;
    const Buffer<std::uint8_t> pixels(*device, std::vector<std::uint8_t>(std::size_t{images} * kPixels, 1));
    const Buffer<std::uint8_t> labels(*device, std::vector<std::uint8_t>(images, 1));
    Buffer<float> weights(*device, kWeights), gradient(*device, kWeights);
    Buffer<PassStatistics> statistics(*device, 1);
    device->ops().initialise(weights.data(), 1);
    const std::uint64_t in_use = device->memory_in_use(), before = device->scratch_bytes();
    for (int repeat = 0; repeat < 2; ++repeat) {
      device->ops().loss_and_gradient({pixels.data(), labels.data(), images}, weights.data(), gradient.data(),
                                      statistics.data());
      CHECK(device->memory_in_use() == in_use);
      if (reference) {
        CHECK(device->scratch_bytes() == 0);
      } else {
        // At least a gradient, and no second copy of the images.
        CHECK(device->scratch_bytes() - before >= kWeights * sizeof(float));
        CHECK(device->scratch_bytes() - before < std::size_t{images} * kPixels);
      }
    }
  }
}

TEST_CASE("emptying the cache changes nothing that a caller sees") {
  const auto device = Device::open(kCpu);
  const Buffer<float> values(*device, std::vector<float>{1, 2, 3});
  const std::uint64_t in_use = device->memory_in_use(), scratch = device->scratch_bytes();
  for (int k = 0; k < 2; ++k) device->empty_cache();
  CHECK(values.to_vector() == std::vector<float>{1, 2, 3});
  CHECK(device->memory_in_use() == in_use);
  CHECK(device->scratch_bytes() == scratch);
}

}  // namespace mnistd::gpu
