// Host memory for the CPU device, aligned to a cache line (and to the widest vector).
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "gpu/error.h"

namespace mnistd::gpu::cpu {

inline constexpr std::size_t kAlignment = 64;

struct AlignedDelete {
  void operator()(void* memory) const noexcept { ::operator delete (memory, std::align_val_t{kAlignment}); }
};

// Never null, uninitialised. Throws OutOfDeviceMemory.
inline std::unique_ptr<void, AlignedDelete> allocate_aligned(std::size_t bytes) {
  try {
    return std::unique_ptr<void, AlignedDelete>(::operator new (bytes, std::align_val_t{kAlignment}));
  } catch (const std::bad_alloc&) {
    throw OutOfDeviceMemory(bytes, "the system has no room for another " + std::to_string(bytes) + " bytes");
  }
}

// Scratch memory of the CPU's operations: `count` values, uninitialised.
template <class T>
class AlignedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t count) : memory_(allocate_aligned(count * sizeof(T))), count_(count) {}

  T* data() { return static_cast<T*>(memory_.get()); }
  const T* data() const { return static_cast<const T*>(memory_.get()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::unique_ptr<void, AlignedDelete> memory_;
  std::size_t count_ = 0;
};

}  // namespace mnistd::gpu::cpu
