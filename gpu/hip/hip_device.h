// A GPU (or the emulator) as a device: its memory, a stream of its own, and the operations of HipOps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpu/device.h"
#include "gpu/hip/device_memory.h"
#include "gpu/hip/staging.h"
#include "gpu/hip/stream.h"
#include "gpu/hip/stream_event.h"

namespace mnistd::gpu::hip {

class HipOps;

class HipDevice final : public Device {
 public:
  // number: of a device that the program has code for; it has been made current. options.kernel as in variants.h.
  HipDevice(int number, DeviceInfo info, const DeviceOptions& options);
  // Waits for what is on the stream. Memory still in use then is lost with the process only.
  ~HipDevice() override;

  const DeviceInfo& info() const override { return info_; }
  Ops& ops() override;
  std::uint64_t memory_in_use() const override { return memory_in_use_.load(std::memory_order_relaxed); }
  std::uint64_t scratch_bytes() const override;
  int pipeline_depth() const override { return 64; }
  void synchronize() override;

  gpu::Event record() override;
  double elapsed_ms(gpu::Event begin, gpu::Event end) override;

  // Aligned to 256 bytes.
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* device, const void* host, std::size_t bytes) override;
  void download(void* host, const void* device, std::size_t bytes) override;
  void fill_zero(void* device, std::size_t bytes) override;

  Limits measure_limits() override;
  void empty_cache() override;

 private:
  static constexpr std::size_t kEventsKept = 64;

  // The current device is a property of the calling thread. A Device is used by one thread at a time, not always by the one
  // that opened it.
  void make_current();
  const StreamEvent& kept(gpu::Event event) const;

  int number_;
  std::thread::id current_in_;
  DeviceInfo info_;
  Stream stream_;
  Staging staging_;
  std::vector<StreamEvent> events_;                // event `id` at id % kEventsKept
  std::uint64_t last_event_ = 0;                   // ids start at 1
  std::unordered_map<void*, std::size_t> blocks_;  // of allocate, with their sizes
  std::atomic<std::uint64_t> memory_in_use_{0};
  DeviceArray<std::uint8_t> beyond_cache_;  // of empty_cache
  std::unique_ptr<HipOps> ops_;
};

}  // namespace mnistd::gpu::hip
