#include "gpu/platform/device_files.h"
#include "gpu/platform/driver.h"

namespace mnistd::gpu::platform {

std::string obstacle() { return obstacle_in("/dev"); }

std::string version_text(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100) + "." +
         std::to_string(version % 100'000);
}

}  // namespace mnistd::gpu::platform
