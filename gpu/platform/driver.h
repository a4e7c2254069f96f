// What a platform's driver is recognised by, before it is called. One definition a platform: amd_driver.cpp,
// nvidia_driver.cpp, emulator_driver.cpp.
#pragma once

#include <string>

namespace mnistd::gpu::platform {

// What stands in the way of a device, in one line with what to do about it; empty if nothing is seen to. Looks at files
// only, so that a machine without a driver is told so before its library is asked.
std::string obstacle();

// A version as hipDriverGetVersion and hipRuntimeGetVersion encode it: "6.4.43484", "13.0".
std::string version_text(int version);

}  // namespace mnistd::gpu::platform
