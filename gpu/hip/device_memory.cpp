#include "gpu/hip/device_memory.h"

#include <algorithm>
#include <string>

namespace mnistd::gpu::hip {

void* allocate_bytes(std::size_t bytes) {
  void* memory = nullptr;
  const hipError_t error = hipMalloc(&memory, std::max<std::size_t>(bytes, 1));
  if (error == hipSuccess && memory != nullptr) return memory;
  forget(error);
  if (error != hipSuccess && error != hipErrorOutOfMemory && error != hipErrorInvalidValue) {
    MNISTD_HIP_CHECK(error);
  }
  // Sizes beyond all reason are invalid values to some drivers.
  std::size_t free = 0;
  std::size_t total = 0;
  MNISTD_HIP_CHECK(hipMemGetInfo(&free, &total));
  throw OutOfDeviceMemory(bytes, "the device has no room for " + std::to_string(bytes) + " bytes: " +
                                     std::to_string(free) + " of its " + std::to_string(total) + " are free");
}

}  // namespace mnistd::gpu::hip
