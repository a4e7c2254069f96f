#include "gpu/platform/driver.h"

namespace mnistd::gpu::platform {

// CUDA's runtime names a missing driver itself, and does not mind its absence.
std::string obstacle() { return {}; }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100);
}

}  // namespace mnistd::gpu::platform
