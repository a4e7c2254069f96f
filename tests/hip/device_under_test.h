// The HIP device that this program is linked with: the emulator, or a real one.
#pragma once

#include <memory>
#include <string>

#include "gpu/device.h"
#include "gpu/hip/open_device.h"

namespace mnistd::gpu {

// kernel: as DeviceOptions::kernel.
inline std::unique_ptr<Device> open_under_test(const std::string& kernel = {}) {
  DeviceOptions options;
  options.backend = Backend::hip;
  options.kernel = kernel;
  return hip::open_device(options);
}

}  // namespace mnistd::gpu
