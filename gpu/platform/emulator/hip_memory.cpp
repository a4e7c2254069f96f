// hipMalloc, hipMemcpyAsync and their kin; see hip_api.h.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>

#include "gpu/platform/emulator/hip_api.h"
#include "gpu/platform/emulator/processor.h"
#include "gpu/platform/emulator/sanitizers.h"

#ifdef MNISTD_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace mnistd::gpu::emulator {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr int kPoison = 0xff;

void close_to_host([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MNISTD_ADDRESS_SANITIZER
  __asan_poison_memory_region(memory, bytes);
#endif
}
void open_to_host([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MNISTD_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

// Allocations by address, with their bytes. Freed at the end only by who asked for them: LeakSanitizer tells.
class Memory {
 public:
  void* allocate(std::size_t bytes, std::size_t limit) {
    const std::lock_guard lock(mutex_);
    if (limit < in_use_ || bytes > limit - in_use_) return nullptr;
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, bytes) != 0) return nullptr;
    std::memset(memory, kPoison, bytes);
    allocations_[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
    in_use_ += bytes;
    return memory;
  }

  bool release(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == allocations_.end()) return false;
    in_use_ -= found->second;
    open_to_host(memory, found->second);
    allocations_.erase(found);
    std::free(memory);
    return true;
  }

  bool holds(const void* begin, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return false;
    const auto& [first, length] = *--after;
    return address - first <= length && bytes <= length - (address - first);
  }

  std::size_t in_use() const {
    const std::lock_guard lock(mutex_);
    return in_use_;
  }

  template <class Function>
  void for_each(Function function) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, bytes] : allocations_) function(reinterpret_cast<const void*>(address), bytes);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> allocations_;
  std::size_t in_use_ = 0;
};

struct Memories {
  Memory device;
  Memory pinned;
  std::size_t limit = std::size_t{2} << 30;
  std::mutex turn;
};

// One emulated device in a process, as its API has it.
Memories& memories() {
  static Memories memories;
  return memories;
}

bool is_device(const void* memory, std::size_t bytes) { return memories().device.holds(memory, bytes); }

}  // namespace

void set_memory_limit(std::size_t bytes) { memories().limit = bytes; }

Turn::Turn() {
  if (Processor::of_this_thread().running()) throw std::logic_error("a kernel put work on a stream");
  memories().turn.lock();
  if (kAddressSanitizer) memories().device.for_each(open_to_host);
}

Turn::~Turn() {
  if (kAddressSanitizer) memories().device.for_each(close_to_host);
  memories().turn.unlock();
}

}  // namespace mnistd::gpu::emulator

namespace emulator = mnistd::gpu::emulator;

hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  if (free == nullptr || total == nullptr) return emulator::remember(hipErrorInvalidValue);
  const std::size_t limit = emulator::memories().limit, in_use = emulator::memories().device.in_use();
  *free = limit > in_use ? limit - in_use : 0;
  *total = limit;
  return hipSuccess;
}

hipError_t hipMalloc(void** memory, std::size_t bytes) {
  if (memory == nullptr) return emulator::remember(hipErrorInvalidValue);
  *memory = nullptr;
  if (bytes == 0) return hipSuccess;
  emulator::Memories& all = emulator::memories();
  *memory = all.device.allocate(bytes, all.limit);
  if (*memory == nullptr) return emulator::remember(hipErrorOutOfMemory);
  emulator::close_to_host(*memory, bytes);
  return hipSuccess;
}

hipError_t hipFree(void* memory) {
  const bool known = memory == nullptr || emulator::memories().device.release(memory);
  return known ? hipSuccess : emulator::remember(hipErrorInvalidValue);
}

hipError_t hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  if (memory == nullptr) return emulator::remember(hipErrorInvalidValue);
  *memory = nullptr;
  if (bytes == 0) return hipSuccess;
  *memory = emulator::memories().pinned.allocate(bytes, std::numeric_limits<std::size_t>::max());
  return *memory != nullptr ? hipSuccess : emulator::remember(hipErrorOutOfMemory);
}

hipError_t hipHostFree(void* memory) {
  const bool known = memory == nullptr || emulator::memories().pinned.release(memory);
  return known ? hipSuccess : emulator::remember(hipErrorInvalidValue);
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  if (!emulator::stream_exists(stream)) return emulator::remember(hipErrorInvalidHandle);
  if (bytes == 0) return hipSuccess;
  const bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
  const bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
  if (to == nullptr || from == nullptr || (to_device && !emulator::is_device(to, bytes)) ||
      (from_device && !emulator::is_device(from, bytes)))
    return emulator::remember(hipErrorInvalidValue);
  if (emulator::is_recording(stream)) {
    emulator::record(stream, [=] { (void)hipMemcpyAsync(to, from, bytes, kind, nullptr); });
    return hipSuccess;
  }
  const emulator::Turn turn;
  std::memmove(to, from, bytes);
  return hipSuccess;
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  if (!emulator::stream_exists(stream)) return emulator::remember(hipErrorInvalidHandle);
  if (bytes == 0) return hipSuccess;
  if (!emulator::is_device(to, bytes)) return emulator::remember(hipErrorInvalidValue);
  if (emulator::is_recording(stream)) {
    emulator::record(stream, [=] { (void)hipMemsetAsync(to, value, bytes, nullptr); });
    return hipSuccess;
  }
  const emulator::Turn turn;
  std::memset(to, value, bytes);
  return hipSuccess;
}
