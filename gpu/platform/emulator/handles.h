// Handles that were given out and not given back: one that was destroyed is an error, not a crash.
#pragma once

#include <mutex>
#include <set>
#include <utility>

namespace mnistd::gpu::emulator {

template <class Handle>
class Handles {
 public:
  template <class... Arguments>
  Handle* add(Arguments&&... arguments) {
    const std::lock_guard lock(mutex_);
    return *handles_.insert(new Handle{std::forward<Arguments>(arguments)...}).first;
  }
  bool remove(Handle* handle) {
    const std::lock_guard lock(mutex_);
    if (handles_.erase(handle) == 0) return false;
    delete handle;
    return true;
  }
  bool has(Handle* handle) {
    const std::lock_guard lock(mutex_);
    return handles_.contains(handle);
  }

 private:
  std::mutex mutex_;
  std::set<Handle*> handles_;
};

}  // namespace mnistd::gpu::emulator
