#include <string>

#include <doctest/doctest.h>

#include "gpu/cpu/host.h"
#include "gpu/cpu/simd_kernels.h"
#include "gpu/device.h"

namespace mnistd::gpu {

TEST_CASE("the CPU device when asked for") {
  const auto device = Device::open({.backend = Backend::cpu, .threads = 3});
  const DeviceInfo& info = device->info();
  CHECK(info.backend == "cpu");
  CHECK_FALSE(info.name.empty());
  CHECK(info.architecture == cpu::vector_unit().name);
  CHECK(info.wavefront == cpu::vector_unit().floats);
  CHECK(info.compute_units == 3);
  CHECK(info.memory_bytes > 64u << 20);
  CHECK(info.driver.empty());
  CHECK(info.reason.empty());
  CHECK(device->pipeline_depth() > 1);
}

TEST_CASE("one thread for each usable processor by default") {
  CHECK(Device::open({.backend = Backend::cpu})->info().compute_units == cpu::usable_processors());
}

TEST_CASE("automatic says in one line why it took the CPU") {
  const auto device = Device::open({});
  CHECK(device->info().backend == "cpu");
  const std::string& reason = device->info().reason;
  CHECK(reason.find("no HIP device") != std::string::npos);
  CHECK(reason.find('\n') == std::string::npos);
}

TEST_CASE("a HIP device in a program without one") {
  try {
    Device::open({.backend = Backend::hip});
    FAIL("opened");
  } catch (const NoSuchDevice& none) {
    const std::string message = none.what();
    CHECK(message.find("built without the HIP device") != std::string::npos);
    CHECK(message.find("cpu") != std::string::npos);
  }
}

TEST_CASE("devices are numbered from 0") {
  CHECK(Device::open({.backend = Backend::cpu, .index = 0})->info().backend == "cpu");
  CHECK(Device::open({.backend = Backend::cpu, .index = -1})->info().backend == "cpu");
  for (int index : {1, 7, -2}) {
    CHECK_THROWS_AS(Device::open({.backend = Backend::cpu, .index = index}), NoSuchDevice);
    CHECK_THROWS_AS(Device::open({.index = index}), NoSuchDevice);
  }
}

TEST_CASE("a number of threads that cannot be") {
  for (int threads : {-1, 1025, 2000000000}) {
    CHECK_THROWS_AS(Device::open({.backend = Backend::cpu, .threads = threads}), DeviceError);
  }
}

TEST_CASE("a kernel for the CPU") {
  DeviceOptions options;
  options.backend = Backend::cpu;
  options.kernel = "residual=1-plain";
  CHECK_THROWS_WITH_AS(Device::open(options), doctest::Contains("no kernels to choose from"), DeviceError);
}

TEST_CASE("the reference device") {
  const auto device = Device::open({.backend = Backend::cpu, .reference = true});
  CHECK(device->info().architecture == "reference");
  CHECK(device->info().compute_units == 1);
}

TEST_CASE("the operations are reached through the device") {
  for (bool reference : {false, true}) {
    const auto device = Device::open({.backend = Backend::cpu, .threads = 2, .reference = reference});
    Buffer<float> weights(*device, kWeights);
    device->ops().initialise(weights.data(), 1234567);
    device->synchronize();
    CHECK(weights.to_vector()[0] != 0.0f);
  }
}

}  // namespace mnistd::gpu
