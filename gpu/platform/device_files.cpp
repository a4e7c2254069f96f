#include "gpu/platform/device_files.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace mnistd::gpu::platform {
namespace {

namespace fs = std::filesystem;

const char* const kJoinGroups =
    ": add the user to the groups render and video (usermod -aG render,video USER) and log in again";

bool accessible(const fs::path& file) { return access(file.c_str(), R_OK | W_OK) == 0; }

std::vector<fs::path> render_nodes(const fs::path& directory) {
  std::vector<fs::path> nodes;
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("renderD")) nodes.push_back(entry->path());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

std::string obstacle_in(const fs::path& devices) {
  const fs::path kfd = devices / "kfd";
  std::error_code error;
  if (!fs::exists(kfd, error)) {
    return "no " + kfd.string() +
           ": there is no AMD GPU, its kernel driver amdgpu is not loaded, or the container was started "
           "without "
           "--device=/dev/kfd --device=/dev/dri";
  }
  if (!accessible(kfd)) return "no permission on " + kfd.string() + kJoinGroups;
  const fs::path dri = devices / "dri";
  const std::vector<fs::path> nodes = render_nodes(dri);
  if (nodes.empty()) {
    return "no " + dri.string() + "/renderD*: the container was started without --device=/dev/dri";
  }
  if (std::none_of(nodes.begin(), nodes.end(), accessible)) {
    return "no permission on " + nodes.front().string() + kJoinGroups;
  }
  return {};
}

}  // namespace mnistd::gpu::platform
