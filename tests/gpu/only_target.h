// A test's choice of vector unit, undone at its end, and a walk over those that were compiled and that this machine has.
#pragma once

#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include "gpu/cpu/simd_kernels.h"

namespace mnistd::gpu {

class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
  ~OnlyTarget() { hwy::SetSupportedTargetsForTest(0); }
};

// Calls check() once for each, and tells which.
template <class Check>
void on_every_vector_unit(Check&& check) {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  CHECK(targets != 0);
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = targets & (std::int64_t{1} << bit);
    if (target == 0) continue;
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    const OnlyTarget only(target);
    CHECK(cpu::vector_unit().name == name);
    check();
    MESSAGE("checked on " << name << ", " << cpu::vector_unit().floats << " floats a vector");
  }
}

}  // namespace mnistd::gpu
