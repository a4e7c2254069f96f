// Memory of the current device, by the driver's own calls.
#pragma once

#include <cstddef>
#include <utility>

#include "gpu/hip/check.h"

namespace mnistd::gpu::hip {

// Never null. Throws OutOfDeviceMemory, naming what was asked for and what is free.
void* allocate_bytes(std::size_t bytes);

// Scratch memory of the operations: `count` values, uninitialised.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count)
      : data_(static_cast<T*>(allocate_bytes(count * sizeof(T)))), count_(count) {}
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    DeviceArray(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) forget(hipFree(data_));
  }

  T* data() { return data_; }
  std::size_t size() const { return count_; }

 private:
  void swap(DeviceArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace mnistd::gpu::hip
