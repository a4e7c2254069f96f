// Device memory for tests, by HIP's own calls.
#pragma once

#include <vector>

#include <doctest/doctest.h>

#include "gpu/platform/emulator.h"

namespace mnistd::gpu::emulator {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    REQUIRE(hipMalloc(&data_, bytes()) == hipSuccess);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    REQUIRE(hipMemcpyAsync(data_, values.data(), bytes(), hipMemcpyHostToDevice) == hipSuccess);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { CHECK(hipFree(data_) == hipSuccess); }

  T* data() { return data_; }
  std::vector<T> to_vector() const {
    std::vector<T> values(count_);
    REQUIRE(hipMemcpyAsync(values.data(), data_, bytes(), hipMemcpyDeviceToHost) == hipSuccess);
    return values;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }

  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace mnistd::gpu::emulator
