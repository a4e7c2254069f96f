// Device memory for an operation's result: poisoned before, and watched on both sides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/device.h"

namespace mnistd::gpu {

template <class T>
class GuardedBuffer {
 public:
  GuardedBuffer(Device& device, std::size_t count, T poison, T sentinel)
      : buffer_(device, count + 2 * kGuard), count_(count), sentinel_(sentinel) {
    std::vector<T> values(count + 2 * kGuard, poison);
    std::fill_n(values.begin(), kGuard, sentinel);
    std::fill_n(values.end() - kGuard, kGuard, sentinel);
    buffer_.upload(values);
  }

  T* data() { return buffer_.data() + kGuard; }

  // What the operation left. Fails the test if it wrote before or behind its result.
  std::vector<T> values() const {
    const std::vector<T> all = buffer_.to_vector();
    const auto untouched = [this](const T& value) { return value == sentinel_; };
    CHECK_MESSAGE(std::all_of(all.begin(), all.begin() + kGuard, untouched), "written before the result");
    CHECK_MESSAGE(std::all_of(all.end() - kGuard, all.end(), untouched), "written behind the result");
    return {all.begin() + kGuard, all.begin() + kGuard + static_cast<std::ptrdiff_t>(count_)};
  }

 private:
  // Odd, so that the result is aligned to nothing but its type.
  static constexpr std::ptrdiff_t kGuard = 67;

  Buffer<T> buffer_;
  std::size_t count_;
  T sentinel_;
};

}  // namespace mnistd::gpu
