#include "gpu/platform/driver.h"

namespace mnistd::gpu::platform {

std::string obstacle() { return {}; }

std::string version_text(int version) { return std::to_string(version); }

}  // namespace mnistd::gpu::platform
