// The seam between the program and its HIP device. A program is linked with one definition: absent.cpp, or hip_device.cpp
// built for one platform.
#pragma once

#include <memory>

#include "gpu/device.h"

namespace mnistd::gpu::hip {

// options.index: the device's number, −1: the first that the program has code for. Throws NoSuchDevice with the reason in
// one line, also where there is no driver; DeviceError if a device is there but can't be set up.
std::unique_ptr<Device> open_device(const DeviceOptions& options);

}  // namespace mnistd::gpu::hip
