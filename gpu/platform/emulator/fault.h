// What the emulator throws where a program is wrong that a GPU might have run without a word.
#pragma once

#include "gpu/error.h"

namespace mnistd::gpu::emulator {

// A fault of a kernel, thrown through hipLaunchKernelGGL. The message says what, in which kernel, block and thread,
// where, and the seed that shows it again.
class EmulatorFault : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// A line of a kernel's source.
struct Place {
  const char* file = nullptr;
  int line = 0;

  bool operator==(const Place& other) const;
  bool operator<(const Place& other) const;  // of one file, the earlier line
};

// "gradient.hip:48".
std::string to_string(const Place& place);

// Throw it for what platform/emulator.h gives to kernels.
[[noreturn]] void misaligned_store(int first);
[[noreturn]] void wait_in_vain();

}  // namespace mnistd::gpu::emulator
