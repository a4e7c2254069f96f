// Device memory for a result: poisoned before, and watched on both sides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace mnistd::gpu::bench {

template <class T>
class Output {
 public:
  Output(Device& device, std::size_t count, T poison)
      : device_(&device), buffer_(device, count + 2 * kGuard), count_(count), piece_(kPiece, poison) {
    this->poison();
  }

  T* data() { return buffer_.data() + kGuard; }
  std::size_t size() const { return count_; }

  // Sentinels and result.
  void poison() {
    for (std::size_t first = 0; first < buffer_.size(); first += kPiece) {
      const std::size_t size = std::min(kPiece, buffer_.size() - first);
      device_->upload(buffer_.data() + first, piece_.data(), size * sizeof(T));
    }
  }
  void fill(std::span<const T> values) { device_->upload(data(), values.data(), values.size() * sizeof(T)); }

  // Whether something was written before or behind the result.
  bool overrun() const { return touched(0) || touched(kGuard + count_); }

  // Calls function(first, values) for parts of the result, so that the host needs room for a part only.
  template <class Function>
  void for_each_part(Function&& function) const {
    std::vector<T> values;
    for (std::size_t first = 0; first < count_; first += kPiece) {
      values.resize(std::min(kPiece, count_ - first));
      device_->download(values.data(), buffer_.data() + kGuard + first, values.size() * sizeof(T));
      function(first, std::span<const T>(values));
    }
  }
  std::vector<T> values() const {
    std::vector<T> all;
    all.reserve(count_);
    for_each_part(
        [&](std::size_t, std::span<const T> part) { all.insert(all.end(), part.begin(), part.end()); });
    return all;
  }

 private:
  static constexpr std::size_t kGuard = 64;  // keeps the alignment of the buffer
  static constexpr std::size_t kPiece = std::size_t{1} << 18;

  bool touched(std::size_t first) const {
    std::vector<T> found(kGuard);
    device_->download(found.data(), buffer_.data() + first, kGuard * sizeof(T));
    return std::memcmp(found.data(), piece_.data(), kGuard * sizeof(T)) != 0;
  }

  Device* device_;
  Buffer<T> buffer_;
  std::size_t count_;
  std::vector<T> piece_;
};

}  // namespace mnistd::gpu::bench
