#include "gpu/hip/setting.h"

#include "gpu/hip/check.h"

namespace mnistd::gpu::hip {

kernels::Setting setting_of(const DeviceInfo& info) {
  int device = 0;
  int cooperative = 0;
  MNISTD_HIP_CHECK(hipGetDevice(&device));
  MNISTD_HIP_CHECK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, device));
  return {info.architecture, info.wavefront, cooperative != 0};
}

}  // namespace mnistd::gpu::hip
