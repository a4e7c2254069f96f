#include "gpu/hip/device_choice.h"

#include "gpu/error.h"

namespace mnistd::gpu::hip {
namespace {

bool has_code_for(std::string_view compiled, std::string_view architecture) {
  while (!compiled.empty()) {
    const std::string_view item = compiled.substr(0, compiled.find_first_of(",;"));
    if (base_architecture(item) == base_architecture(architecture)) return true;
    compiled.remove_prefix(item.size() == compiled.size() ? item.size() : item.size() + 1);
  }
  return false;
}

std::string describe(std::span<const Candidate> devices, std::size_t number) {
  return "device " + std::to_string(number) + ", " + devices[number].name + ", is " +
         std::string(base_architecture(devices[number].architecture));
}

std::string what_was_compiled(std::string_view compiled, std::string_view wanted) {
  return "; the program has code for " + std::string(compiled) +
         ": build it with -DMNISTD_HIP_ARCHS=" + std::string(base_architecture(wanted));
}

}  // namespace

std::string_view base_architecture(std::string_view architecture) {
  return architecture.substr(0, architecture.find(':'));
}

int choose_device(std::span<const Candidate> devices, std::string_view compiled, int index) {
  if (devices.empty()) throw NoSuchDevice("the driver sees no device");
  const int count = static_cast<int>(devices.size());
  if (index < -1 || index >= count) {
    throw NoSuchDevice((count == 1 ? std::string("there is one HIP device, number 0")
                                   : "there are " + std::to_string(count) + " HIP devices, numbers 0 to " +
                                         std::to_string(count - 1)) +
                       "; asked for number " + std::to_string(index));
  }
  if (index >= 0) {
    const auto number = static_cast<std::size_t>(index);
    if (has_code_for(compiled, devices[number].architecture)) return index;
    throw NoSuchDevice(describe(devices, number) + what_was_compiled(compiled, devices[number].architecture));
  }
  std::string found;
  for (std::size_t number = 0; number < devices.size(); ++number) {
    if (has_code_for(compiled, devices[number].architecture)) return static_cast<int>(number);
    found += (number > 0 ? "; " : "") + describe(devices, number);
  }
  throw NoSuchDevice(found + what_was_compiled(compiled, devices[0].architecture));
}

}  // namespace mnistd::gpu::hip
