#include "gpu/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/host.h"
#include "gpu/cpu/limits.h"
#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_ops.h"

namespace mnistd::gpu::cpu {
namespace {

// A block of device memory is preceded by a cache line that holds its size.
struct alignas(kAlignment) BlockHeader {
  std::size_t bytes;
};
static_assert(sizeof(BlockHeader) == kAlignment);

int threads_asked_for(int threads) {
  if (threads < 0 || threads > kMostThreads) {
    throw DeviceError("the CPU device takes 1 to " + std::to_string(kMostThreads) +
                      " threads, or 0 for one a processor; asked for " + std::to_string(threads));
  }
  return threads == 0 ? std::min(usable_processors(), kMostThreads) : threads;
}

}  // namespace

CpuDevice::CpuDevice(const DeviceOptions& options, std::string reason) {
  if (options.index < -1 || options.index > 0) {
    throw NoSuchDevice("there is one CPU device, number 0; asked for number " +
                       std::to_string(options.index));
  }
  if (!options.kernel.empty()) {
    throw DeviceError("the CPU device has no kernels to choose from; asked for '" + options.kernel +
                      "', which is for a HIP device");
  }
  const int threads = threads_asked_for(options.threads);
  info_.reason = std::move(reason);
  info_.backend = "cpu";
  info_.name = processor_name();
  info_.memory_bytes = physical_memory_bytes();
  info_.cache_bytes = last_cache_bytes();
  if (options.reference) {
    info_.architecture = "reference";
    ops_ = std::make_unique<ReferenceOps>();
  } else {
    const VectorUnit unit = vector_unit();
    info_.architecture = unit.name;
    info_.wavefront = unit.floats;
    info_.compute_units = threads;
    auto simd = std::make_unique<SimdOps>(threads);
    simd_ = simd.get();
    ops_ = std::move(simd);
  }
}

// The plain loops keep nothing between two calls.
std::uint64_t CpuDevice::scratch_bytes() const { return simd_ == nullptr ? 0 : simd_->scratch_bytes(); }

Event CpuDevice::record() {
  ++last_event_;
  events_[last_event_ % kEventsKept] = Clock::now();
  return {last_event_};
}

CpuDevice::Clock::time_point CpuDevice::time_of(Event event) const {
  if (event.id == 0 || event.id > last_event_ || last_event_ - event.id >= kEventsKept) {
    throw DeviceError("event " + std::to_string(event.id) + " is not among the last " +
                      std::to_string(kEventsKept) + " recorded; the latest is " +
                      std::to_string(last_event_));
  }
  return events_[event.id % kEventsKept];
}

double CpuDevice::elapsed_ms(Event begin, Event end) {
  return std::chrono::duration<double, std::milli>(time_of(end) - time_of(begin)).count();
}

void* CpuDevice::allocate(std::size_t bytes) {
  const std::uint64_t in_use = memory_in_use();
  const std::uint64_t in_all = info_.memory_bytes;
  const bool representable = bytes <= std::numeric_limits<std::size_t>::max() - sizeof(BlockHeader);
  if (!representable || (in_all > 0 && (in_use > in_all || bytes > in_all - in_use))) {
    throw OutOfDeviceMemory(bytes, "the CPU device has no room for " + std::to_string(bytes) +
                                       " bytes: " + std::to_string(in_use) + " of the machine's " +
                                       std::to_string(in_all) + " are in use");
  }
  void* block = allocate_aligned(sizeof(BlockHeader) + bytes).release();
  BlockHeader* header = new (block) BlockHeader{bytes};
  memory_in_use_.fetch_add(bytes, std::memory_order_relaxed);
  return header + 1;
}

void CpuDevice::release(void* memory) noexcept {
  if (memory == nullptr) return;
  BlockHeader* header = static_cast<BlockHeader*>(memory) - 1;
  memory_in_use_.fetch_sub(header->bytes, std::memory_order_relaxed);
  AlignedDelete()(header);
}

void CpuDevice::upload(void* device, const void* host, std::size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void CpuDevice::download(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

void CpuDevice::fill_zero(void* device, std::size_t bytes) {
  if (bytes > 0) std::memset(device, 0, bytes);
}

Limits CpuDevice::measure_limits() { return cpu::measure_limits(info_.compute_units, info_.cache_bytes); }

void CpuDevice::empty_cache() {
  if (beyond_cache_.size() == 0) {
    beyond_cache_ = AlignedArray<std::uint8_t>(bytes_beyond_cache(info_.cache_bytes));
    std::fill_n(beyond_cache_.data(), beyond_cache_.size(), std::uint8_t{0});
  }
  // A byte a line: the C library's own ways to write much memory go past the cache.
  for (std::size_t i = 0; i < beyond_cache_.size(); i += kAlignment) ++beyond_cache_.data()[i];
}

}  // namespace mnistd::gpu::cpu
