// Host memory for an operation's result: poisoned before, and watched on both sides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace mnistd::gpu {

class GuardedFloats {
 public:
  explicit GuardedFloats(std::size_t count)
      : values_(count + 2 * kGuard, std::numeric_limits<float>::quiet_NaN()), count_(count) {
    std::fill_n(values_.begin(), kGuard, kSentinel);
    std::fill_n(values_.end() - kGuard, kGuard, kSentinel);
  }

  float* data() { return values_.data() + kGuard; }
  std::size_t size() const { return count_; }
  float operator[](std::size_t i) const { return values_[kGuard + i]; }

  // Nothing was written before or behind the values.
  bool intact() const {
    const auto untouched = [](float value) { return value == kSentinel; };
    return std::all_of(values_.begin(), values_.begin() + kGuard, untouched) &&
           std::all_of(values_.end() - kGuard, values_.end(), untouched);
  }

 private:
  // Odd, so that the values between are not aligned to vectors.
  static constexpr std::ptrdiff_t kGuard = 67;
  static constexpr float kSentinel = -8906.25f;

  std::vector<float> values_;
  std::size_t count_;
};

}  // namespace mnistd::gpu
