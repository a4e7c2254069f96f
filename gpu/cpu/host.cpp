#include "gpu/cpu/host.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace mnistd::gpu::cpu {
namespace {

// Empty if it cannot be read: files of /proc and /sys have no size to go by, and may be hidden from a container.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The value of the first "key : value" line; empty if there is none.
std::string value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !line.starts_with(key)) continue;
    if (line.substr(key.size(), colon - key.size()).find_first_not_of(" \t") != std::string_view::npos)
      continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string_view::npos) continue;
    return std::string(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return {};
}

int processors_of_affinity() {
  // The mask must be as long as the kernel's, which is not told: lengthen it until it fits.
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    std::vector<cpu_set_t> mask(static_cast<std::size_t>(processors) / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

// The smallest quota on the way from this process's control group (version 2) up to the root; 0 if there is none.
int processors_of_control_group() {
  const std::string_view entry = "0::";
  std::istringstream lines(text_of("/proc/self/cgroup"));
  std::string group;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(entry)) group = line.substr(entry.size());
  }
  int smallest = 0;
  for (;;) {
    if (group == "/") group.clear();
    const int allowed = processors_of_quota(text_of("/sys/fs/cgroup" + group + "/cpu.max"));
    if (allowed > 0 && (smallest == 0 || allowed < smallest)) smallest = allowed;
    if (group.empty()) return smallest;
    const std::size_t slash = group.rfind('/');
    group.erase(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

std::string processor_name(std::string_view cpuinfo, std::string_view machine) {
  for (std::string_view key : {"model name", "Model", "Hardware"}) {
    if (std::string name = value_of(cpuinfo, key); !name.empty()) return name;
  }
  return std::string(machine.empty() ? "unknown" : machine) + " processor";
}

std::string processor_name() {
  utsname system = {};
  if (uname(&system) != 0) system.machine[0] = '\0';
  return processor_name(text_of("/proc/cpuinfo"), system.machine);
}

int processors_of_quota(std::string_view cpu_max) {
  std::istringstream text{std::string(cpu_max)};
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((quota + period - 1) / period, 1 << 20));
}

int usable_processors() {
  const int processors = std::max(1, processors_of_affinity());
  const int allowed = processors_of_control_group();
  return allowed > 0 ? std::min(processors, allowed) : processors;
}

std::uint64_t physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

std::uint64_t bytes_of_cache_size(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::uint64_t size = 0;
  char unit = 0;
  if (!(in >> size)) return 0;
  if (!(in >> unit)) return size;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : 0;
}

// Not by sysconf, whose answer for some processors under a hypervisor is the sum of all the caches of the machine.
std::uint64_t last_cache_bytes() {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string file = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size";
    largest = std::max(largest, bytes_of_cache_size(text_of(file)));
  }
  return largest;
}

}  // namespace mnistd::gpu::cpu
