#include "gpu/hip/hip_device.h"

#include <string>
#include <utility>

#include "gpu/hip/device_choice.h"
#include "gpu/hip/device_memory.h"
#include "gpu/hip/hip_ops.h"
#include "gpu/hip/limits.h"
#include "gpu/hip/open_device.h"
#include "gpu/hip/setting.h"
#include "gpu/kernels/variants.h"
#include "gpu/platform/driver.h"

namespace mnistd::gpu::hip {
namespace {

std::vector<hipDeviceProp_t> devices_of_driver() {
  int count = 0;
  const hipError_t error = hipGetDeviceCount(&count);
  if (error != hipSuccess) {
    forget(error);
    throw NoSuchDevice("the driver says " + describe(error));
  }
  std::vector<hipDeviceProp_t> devices(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) {
    MNISTD_HIP_CHECK(hipGetDeviceProperties(&devices[static_cast<std::size_t>(number)], number));
  }
  return devices;
}

std::string driver_and_runtime() {
  int driver = 0;
  int runtime = 0;
  MNISTD_HIP_CHECK(hipDriverGetVersion(&driver));
  MNISTD_HIP_CHECK(hipRuntimeGetVersion(&runtime));
  return "driver " + platform::version_text(driver) + ", runtime " + platform::version_text(runtime);
}

DeviceInfo info_of(const hipDeviceProp_t& device) {
  DeviceInfo info;
  info.backend = "hip";
  info.name = device.name;
  info.architecture = base_architecture(device.gcnArchName);
  info.driver = driver_and_runtime();
  info.wavefront = device.warpSize;
  info.compute_units = device.multiProcessorCount;
  info.memory_bytes = device.totalGlobalMem;
  info.cache_bytes = static_cast<std::uint64_t>(device.l2CacheSize);
  info.kernels = kernels::forcible_variants(setting_of(info));
  return info;
}

}  // namespace

std::unique_ptr<Device> open_device(const DeviceOptions& options) {
  if (const std::string obstacle = platform::obstacle(); !obstacle.empty()) throw NoSuchDevice(obstacle);
  const std::vector<hipDeviceProp_t> devices = devices_of_driver();
  std::vector<Candidate> candidates;
  for (const hipDeviceProp_t& device : devices) candidates.push_back({device.name, device.gcnArchName});
  const int number = choose_device(candidates, MNISTD_HIP_ARCHS, options.index);
  MNISTD_HIP_CHECK(hipSetDevice(number));
  return std::make_unique<HipDevice>(number, info_of(devices[static_cast<std::size_t>(number)]), options);
}

HipDevice::HipDevice(int number, DeviceInfo info, const DeviceOptions& options)
    : number_(number),
      current_in_(std::this_thread::get_id()),
      info_(std::move(info)),
      staging_(stream_.get()),
      events_(kEventsKept),
      ops_(std::make_unique<HipOps>(info_, stream_.get(), options.kernel)) {}

HipDevice::~HipDevice() {
  forget(hipSetDevice(number_));
  forget(hipStreamSynchronize(stream_.get()));
}

void HipDevice::make_current() {
  if (current_in_ == std::this_thread::get_id()) return;
  MNISTD_HIP_CHECK(hipSetDevice(number_));
  current_in_ = std::this_thread::get_id();
}

Ops& HipDevice::ops() {
  make_current();
  return *ops_;
}

void HipDevice::synchronize() {
  make_current();
  stream_.synchronize();
}

gpu::Event HipDevice::record() {
  make_current();
  events_[(last_event_ + 1) % kEventsKept].record(stream_.get());
  return {++last_event_};
}

const StreamEvent& HipDevice::kept(gpu::Event event) const {
  if (event.id == 0 || event.id > last_event_ || last_event_ - event.id >= kEventsKept) {
    throw DeviceError("event " + std::to_string(event.id) + " is not among the last " +
                      std::to_string(kEventsKept) + " recorded; the latest is " +
                      std::to_string(last_event_));
  }
  return events_[event.id % kEventsKept];
}

double HipDevice::elapsed_ms(gpu::Event begin, gpu::Event end) {
  make_current();
  const StreamEvent& first = kept(begin.id <= end.id ? begin : end);
  const StreamEvent& second = kept(begin.id <= end.id ? end : begin);
  second.synchronize();
  if (begin.id == end.id) return 0;
  const double milliseconds = second.milliseconds_since(first);
  return begin.id < end.id ? milliseconds : -milliseconds;
}

void* HipDevice::allocate(std::size_t bytes) {
  make_current();
  void* memory = allocate_bytes(bytes);
  try {
    blocks_.emplace(memory, bytes);
  } catch (...) {
    forget(hipFree(memory));
    throw;
  }
  memory_in_use_.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

void HipDevice::release(void* memory) noexcept {
  const auto block = blocks_.find(memory);
  if (block == blocks_.end()) return;
  memory_in_use_.fetch_sub(block->second, std::memory_order_relaxed);
  blocks_.erase(block);
  forget(hipFree(memory));
}

void HipDevice::upload(void* device, const void* host, std::size_t bytes) {
  make_current();
  staging_.upload(device, host, bytes);
}

void HipDevice::download(void* host, const void* device, std::size_t bytes) {
  make_current();
  staging_.download(host, device, bytes);
}

std::uint64_t HipDevice::scratch_bytes() const { return ops_->scratch_bytes(); }

Limits HipDevice::measure_limits() {
  make_current();
  return hip::measure_limits(stream_.get(), info_);
}

void HipDevice::empty_cache() {
  make_current();
  if (beyond_cache_.size() == 0) beyond_cache_ = DeviceArray<std::uint8_t>(bytes_beyond_cache(info_));
  MNISTD_HIP_CHECK(hipMemsetAsync(beyond_cache_.data(), 0, beyond_cache_.size(), stream_.get()));
}

void HipDevice::fill_zero(void* device, std::size_t bytes) {
  make_current();
  if (bytes > 0) MNISTD_HIP_CHECK(hipMemsetAsync(device, 0, bytes, stream_.get()));
}

}  // namespace mnistd::gpu::hip
