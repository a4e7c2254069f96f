// Without a device there is nothing to test: 77, which CTest reports as skipped. The emulator is always there.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include <doctest/doctest.h>

#include "gpu/platform/platform.h"
#include "tests/hip/device_under_test.h"

int main(int count, char** arguments) {
#if !defined(MNISTD_PLATFORM_EMULATOR)
  try {
    const auto device = mnistd::gpu::open_under_test();
    std::printf("device: %s, %s, %s\n", device->info().name.c_str(), device->info().architecture.c_str(),
                device->info().driver.c_str());
  } catch (const mnistd::gpu::NoSuchDevice& none) {
    std::printf("SKIP: no device: %s\n", none.what());
    return 77;
  }
#endif
  return doctest::Context(count, arguments).run();
}
