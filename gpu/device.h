// A device: memory, one ordered stream of work, and the operations of ops.h. Owners are move-only, views are plain.
//
// A Device and all that belongs to it is used by one thread: in the daemon, the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/error.h"
#include "gpu/ops.h"

namespace mnistd::gpu {

enum class Backend { automatic, cpu, hip };

struct DeviceOptions {
  Backend backend = Backend::automatic;
  int index = -1;           // among the backend's devices; −1: the first that the program has code for
  int threads = 0;          // of the CPU device; 0: one for each processor that this process may run on
  bool reference = false;   // the CPU device's plain loops instead of its SIMD code (tests, selftest)
  std::string kernel = {};  // variants that the HIP device must use (kernels/variants.h); empty: its choice
};

struct DeviceInfo {
  std::string backend;             // "cpu", "hip"
  std::string name;                // "AMD EPYC 9654", "AMD Radeon Pro VII"
  std::string architecture;        // "AVX2", "gfx906"
  std::string driver;              // version of driver or runtime; empty for the CPU
  std::string reason;              // why automatic took this device, one line; empty if nothing needs saying
  int wavefront = 1;               // lanes that run in step; for the CPU, floats in a vector
  int compute_units = 1;           // for the CPU, threads
  std::uint64_t memory_bytes = 0;  // in all
  std::uint64_t cache_bytes = 0;   // of the last cache before memory; 0: not known
  // What DeviceOptions::kernel may force, "residual=1-plain" …; none for the CPU.
  std::vector<std::string> kernels = {};
};

// What a device was measured to reach at most, by loops that do nothing else (Device::measure_limits). A second's worth.
struct Limits {
  double bytes = 0;  // of a copy in memory: those read and those written
  double flops = 0;  // fp32 multiply-adds in registers, each two
  double byte_operations =
      0;  // multiply-adds of bytes into 32-bit sums, each two; how, is the device's affair
};

// A point in the stream's time. Made by Device::record; plain, copyable, valid while the Device lives.
struct Event {
  std::uint64_t id = 0;
};

class Device {
 public:
  // Opens the first usable device in the order hip, cpu, or the one that is forced. Throws NoSuchDevice.
  static std::unique_ptr<Device> open(const DeviceOptions& options);

  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual Ops& ops() = 0;
  virtual std::uint64_t memory_in_use() const = 0;  // bytes handed out by allocate; any thread
  // Device memory that the operations keep for themselves, in bytes: grown by the largest of what they were asked so far.
  virtual std::uint64_t scratch_bytes() const = 0;

  // How many iterations may be queued before the host waits for one, or, where calls return finished (CPU), be in one call.
  virtual int pipeline_depth() const = 0;

  // Waits until all that was put on the stream is done; faults of earlier work surface here.
  virtual void synchronize() = 0;

  // Events measure time on the device itself. elapsed_ms waits for `end`. The last 64 events are kept.
  virtual Event record() = 0;
  virtual double elapsed_ms(Event begin, Event end) = 0;

  // Raw memory; Buffer is what callers use. allocate throws OutOfDeviceMemory; release never throws.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Ordered on the stream. upload may read `host` only until it returns; download returns when `host` is filled.
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
  virtual void fill_zero(void* device, std::size_t bytes) = 0;

  // For benchmarks. measure_limits waits, takes some milliseconds and gives its memory back. empty_cache, ordered on the
  // stream, writes over more memory than cache_bytes, so that what follows finds nothing of its own there; that memory is
  // kept, and counted nowhere.
  virtual Limits measure_limits() = 0;
  virtual void empty_cache() = 0;
};

// Owns `count` values of device memory, uninitialised. Must not outlive its Device.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t count)
      : device_(&device), data_(static_cast<T*>(device.allocate(allocation_bytes(count)))), count_(count) {}
  Buffer(Device& device, std::span<const T> host) : Buffer(device, host.size()) { upload(host); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) device_->release(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }

  // Copies host.size() values, at most size() (std::length_error); waits as the Device's upload and download do.
  void upload(std::span<const T> host) {
    const std::size_t bytes = bytes_of(host.size());
    if (bytes > 0) device_->upload(data_, host.data(), bytes);
  }
  void download(std::span<T> host) const {
    const std::size_t bytes = bytes_of(host.size());
    if (bytes > 0) device_->download(host.data(), data_, bytes);
  }
  std::vector<T> to_vector() const {
    std::vector<T> host(count_);
    download(host);
    return host;
  }

 private:
  std::size_t bytes_of(std::size_t count) const {
    if (count > count_) throw std::length_error("copy of more values than the device buffer holds");
    return count * sizeof(T);
  }
  // More than a size can say is asked for as the largest size: the Device refuses that as OutOfDeviceMemory.
  static std::size_t allocation_bytes(std::size_t count) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    return count > kMost / sizeof(T) ? kMost : count * sizeof(T);
  }
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  Device* device_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace mnistd::gpu
