// The files through which Linux gives a process its AMD GPUs, and what is wrong with them.
#pragma once

#include <filesystem>
#include <string>

namespace mnistd::gpu::platform {

// `devices` is /dev, except in tests. Empty if kfd and at least one of dri/renderD* can be read and written.
std::string obstacle_in(const std::filesystem::path& devices);

}  // namespace mnistd::gpu::platform
