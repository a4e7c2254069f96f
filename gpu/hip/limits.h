// What a HIP device reaches at most: the kernels limit_copy, limit_fma and limit_dot4, timed by its events.
#pragma once

#include <cstddef>

#include "gpu/device.h"
#include "gpu/hip/check.h"

namespace mnistd::gpu::hip {

// On the current device. The least time of a few launches counts, as that was disturbed least.
Limits measure_limits(hipStream_t stream, const DeviceInfo& info);

// Memory that the last cache can't hold a part worth mentioning of.
std::size_t bytes_beyond_cache(const DeviceInfo& info);

}  // namespace mnistd::gpu::hip
