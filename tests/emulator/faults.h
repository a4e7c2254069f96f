// How tests ask for a fault.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include "gpu/platform/emulator.h"

namespace mnistd::gpu::emulator {

// The message of the fault that `function` ends with; empty, and a failure, if it ends with none.
template <class Function>
std::string fault_of(Function&& function) {
  try {
    function();
  } catch (const EmulatorFault& fault) {
    return fault.what();
  }
  FAIL_CHECK("no fault");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("in: ", text);
  return found;
}

}  // namespace mnistd::gpu::emulator
