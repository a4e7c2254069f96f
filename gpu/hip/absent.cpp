#include "gpu/hip/open_device.h"

namespace mnistd::gpu::hip {

std::unique_ptr<Device> open_device(const DeviceOptions&) {
  throw NoSuchDevice("this program was built without the HIP device: choose the backend cpu or auto");
}

}  // namespace mnistd::gpu::hip
