// The processor as a device: host memory, work that is done when a call returns, and the operations of SimdOps (or of
// ReferenceOps, by DeviceOptions::reference).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/cpu/aligned_array.h"
#include "gpu/device.h"

namespace mnistd::gpu::cpu {

class SimdOps;

inline constexpr int kMostThreads = 1024;

class CpuDevice final : public Device {
 public:
  // options.index: −1 or 0 (else NoSuchDevice); threads: 0, or 1 to kMostThreads, kernel: empty (else DeviceError).
  // reason: for DeviceInfo, why it became this device.
  CpuDevice(const DeviceOptions& options, std::string reason);

  const DeviceInfo& info() const override { return info_; }
  Ops& ops() override { return *ops_; }
  std::uint64_t memory_in_use() const override { return memory_in_use_.load(std::memory_order_relaxed); }
  std::uint64_t scratch_bytes() const override;
  int pipeline_depth() const override { return 16; }  // of one call, through which the threads stay awake
  void synchronize() override {}

  Event record() override;
  double elapsed_ms(Event begin, Event end) override;

  // Aligned to 64 bytes. Refused as well where the sum of all would exceed the machine's memory: Linux would promise
  // it and kill the process on use.
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void fill_zero(void* device, std::size_t bytes) override;

  Limits measure_limits() override;
  // By the calling thread alone: the small caches of other processors keep what they have.
  void empty_cache() override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kEventsKept = 64;

  Clock::time_point time_of(Event event) const;

  DeviceInfo info_;
  std::unique_ptr<Ops> ops_;
  const SimdOps* simd_ = nullptr;            // ops_, where it is that
  AlignedArray<std::uint8_t> beyond_cache_;  // of empty_cache
  std::atomic<std::uint64_t> memory_in_use_{0};
  std::array<Clock::time_point, kEventsKept> events_;  // event `id` at id % kEventsKept
  std::uint64_t last_event_ = 0;                       // ids start at 1
};

}  // namespace mnistd::gpu::cpu
