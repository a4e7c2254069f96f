// What becomes of a failed call.
#include "gpu/hip/check.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/hip/device_under_test.h"

namespace mnistd::gpu {

TEST_CASE("a failed call names expression, place and what the driver said") {
  const auto device = open_under_test();
  try {
    MNISTD_HIP_CHECK(hipSetDevice(12345));
    FAIL("there are not so many devices");
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    CHECK(message.find("hipSetDevice(12345)") != std::string::npos);
    CHECK(message.find("check_test.cpp:") != std::string::npos);
    CHECK(message.find("nvalid") != std::string::npos);
  }
  // And a later launch does not find its error.
  Buffer<float> weights(*device, kWeights);
  CHECK_NOTHROW(device->ops().initialise(weights.data(), 1));
  device->synchronize();
}

TEST_CASE("failures have types") {
  CHECK_THROWS_AS(hip::fail(hipErrorOutOfMemory, "call", "file", 1), OutOfDeviceMemory);
  for (hipError_t error : {hipErrorIllegalAddress, hipErrorLaunchFailure, hipErrorLaunchTimeOut,
                           hipErrorECCNotCorrectable, hipErrorAssert}) {
    CHECK_THROWS_AS(hip::fail(error, "call", "file", 1), DeviceLost);
  }
  try {
    hip::fail(hipErrorInvalidValue, "call", "/somewhere/else/gpu/hip/file.cpp", 7);
  } catch (const DeviceLost&) {
    FAIL("a wrong argument loses no device");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).find(" gpu/hip/file.cpp:7 ") != std::string::npos);
  }
}

}  // namespace mnistd::gpu
