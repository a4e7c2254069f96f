// Every call of the driver goes through MNISTD_HIP_CHECK, every launch through check_launch. Failures become exceptions
// that name the expression, its place, and what the driver said.
#pragma once

#include <string>

#include "gpu/error.h"
#include "gpu/platform/platform.h"

namespace mnistd::gpu::hip {

// "hipErrorInvalidValue: invalid argument".
std::string describe(hipError_t error);

// Whether no later call on the device can succeed after this one.
bool is_sticky(hipError_t error);

// Throws OutOfDeviceMemory, DeviceLost (sticky errors) or DeviceError.
[[noreturn]] void fail(hipError_t error, const char* what, const char* file, int line);

inline void check(hipError_t error, const char* expression, const char* file, int line) {
  if (error != hipSuccess) fail(error, expression, file, line);
}

// After a launch: throws as above where it was refused, or where earlier work on the device had failed.
void check_launch(const char* kernel);

// For destructors, which go on: the error is not kept for a later call to find.
void forget(hipError_t error) noexcept;

}  // namespace mnistd::gpu::hip

#define MNISTD_HIP_CHECK(expression) ::mnistd::gpu::hip::check((expression), #expression, __FILE__, __LINE__)
