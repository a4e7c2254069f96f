// What the variants of the kernels are chosen by.
#pragma once

#include "gpu/device.h"
#include "gpu/kernels/variants.h"

namespace mnistd::gpu::hip {

// Of the current device, of which `info` is told. The setting points into it.
kernels::Setting setting_of(const DeviceInfo& info);

}  // namespace mnistd::gpu::hip
