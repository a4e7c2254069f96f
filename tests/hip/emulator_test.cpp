// What only the emulator can be asked: a device that runs full at a given moment, and Device::open with a HIP device.
#include <vector>

#include <doctest/doctest.h>

#include "gpu/platform/platform.h"
#include "tests/gpu/formulas.h"
#include "tests/hip/device_under_test.h"
#include "tests/hip/runner.h"

namespace mnistd::gpu {
namespace {

constexpr std::size_t kMemory = std::size_t{2} << 30;

class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t bytes) { emulator::set_memory_limit(bytes); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { emulator::set_memory_limit(kMemory); }
};

}  // namespace

TEST_CASE("no room for an operation's scratch memory fails the operation and no more") {
  const auto device = open_under_test();
  const Images images = random_images(70, 3);
  const std::vector<float> weights = random_floats(kWeights, 0.05f, 5);
  Buffer<std::uint8_t> pixels(*device, images.pixels);
  Buffer<std::uint8_t> labels(*device, images.labels);
  Buffer<float> matrix(*device, weights);
  Buffer<float> gradient(*device, kWeights);
  Buffer<PassStatistics> statistics(*device, 1);
  const LabelledImages view = {pixels.data(), labels.data(), 70};
  {
    const MemoryLimit full(1000);
    CHECK_THROWS_AS(device->ops().loss_and_gradient(view, matrix.data(), gradient.data(), statistics.data()),
                    OutOfDeviceMemory);
  }
  device->ops().loss_and_gradient(view, matrix.data(), gradient.data(), statistics.data());
  CHECK(statistics.to_vector().front().squared_residual > 0);
}

TEST_CASE("the HIP device is what automatic takes where it is there") {
  const auto device = Device::open({});
  CHECK(device->info().backend == "hip");
  CHECK(device->info().reason.empty());
  CHECK(Device::open({.backend = Backend::hip})->info().backend == "hip");
  CHECK(Device::open({.backend = Backend::cpu})->info().backend == "cpu");
  CHECK_THROWS_AS(Device::open({.backend = Backend::hip, .index = 1}), NoSuchDevice);
}

}  // namespace mnistd::gpu
