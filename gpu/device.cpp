#include "gpu/device.h"

#include <array>

#include "gpu/cpu/cpu_device.h"
#include "gpu/hip/open_device.h"

namespace mnistd::gpu {
namespace {

// `passed_over`: why the devices tried before will not do, empty if there were none; it goes into DeviceInfo::reason.
std::unique_ptr<Device> open_cpu(const DeviceOptions& options, const std::string& passed_over) {
  return std::make_unique<cpu::CpuDevice>(
      options, passed_over.empty() ? "" : passed_over + "; running on the CPU instead");
}

std::unique_ptr<Device> open_hip(const DeviceOptions& options, const std::string&) {
  return hip::open_device(options);
}

// Opens the device of its kind that `options` ask for, or throws NoSuchDevice, saying why there is none.
struct Factory {
  Backend backend;
  const char* name;
  std::unique_ptr<Device> (*open)(const DeviceOptions& options, const std::string& passed_over);
};

// In the order in which automatic tries them.
constexpr std::array kFactories = {Factory{Backend::hip, "HIP", open_hip},
                                   Factory{Backend::cpu, "CPU", open_cpu}};

}  // namespace

std::unique_ptr<Device> Device::open(const DeviceOptions& options) {
  std::string passed_over;
  for (const Factory& factory : kFactories) {
    if (options.backend != Backend::automatic && options.backend != factory.backend) continue;
    try {
      return factory.open(options, passed_over);
    } catch (const NoSuchDevice& none) {
      if (options.backend != Backend::automatic) throw;
      if (!passed_over.empty()) passed_over += "; ";
      passed_over += "no " + std::string(factory.name) + " device: " + none.what();
    }
  }
  throw NoSuchDevice(passed_over);
}

}  // namespace mnistd::gpu
