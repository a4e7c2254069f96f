// Four values of 4 bytes that a GPU loads and stores as one.
#pragma once

namespace mnistd::gpu::platform {

template <class T>
struct alignas(16) Four {
  static_assert(sizeof(T) == 4);
  T value[4];
};

}  // namespace mnistd::gpu::platform
