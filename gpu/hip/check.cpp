#include "gpu/hip/check.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace mnistd::gpu::hip {
namespace {

// From the repository's root on: where it lies on the machine that built the program is nobody's concern.
std::string_view place_of(std::string_view file) {
  const std::size_t root = file.rfind("/gpu/");
  return root == std::string_view::npos ? file : file.substr(root + 1);
}

[[noreturn]] void fail_with(hipError_t error, const std::string& message) {
  if (error == hipErrorOutOfMemory) throw OutOfDeviceMemory(0, message);
  if (is_sticky(error)) throw DeviceLost(message);
  throw DeviceError(message);
}

}  // namespace

std::string describe(hipError_t error) {
  const char* name = hipGetErrorName(error);
  const char* text = hipGetErrorString(error);
  return std::string(name != nullptr ? name : "unknown error") + ": " + (text != nullptr ? text : "no text");
}

bool is_sticky(hipError_t error) {
  constexpr std::array kSticky = {hipErrorIllegalAddress,    hipErrorLaunchFailure, hipErrorLaunchTimeOut,
                                  hipErrorECCNotCorrectable, hipErrorAssert,        hipErrorUnknown};
  return std::find(kSticky.begin(), kSticky.end(), error) != kSticky.end();
}

void fail(hipError_t error, const char* what, const char* file, int line) {
  forget(error);
  fail_with(error, std::string(what) + " failed at " + std::string(place_of(file)) + ":" +
                       std::to_string(line) + " with " + describe(error));
}

void check_launch(const char* kernel) {
  const hipError_t error = hipGetLastError();
  if (error == hipSuccess) return;
  fail_with(error, "the launch of kernel " + std::string(kernel) + " failed with " + describe(error));
}

void forget(hipError_t error) noexcept {
  // The runtime keeps a call's error until it is asked for, and check_launch would take it for its own.
  if (error != hipSuccess) static_cast<void>(hipGetLastError());
}

}  // namespace mnistd::gpu::hip
