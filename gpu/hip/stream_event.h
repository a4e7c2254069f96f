// Owns an event of the current device: a mark on a stream that can be waited for and that tells its time.
#pragma once

#include <utility>

#include "gpu/hip/check.h"

namespace mnistd::gpu::hip {

class StreamEvent {
 public:
  StreamEvent() { MNISTD_HIP_CHECK(hipEventCreate(&event_)); }
  StreamEvent(StreamEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  StreamEvent& operator=(StreamEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~StreamEvent() {
    if (event_ != nullptr) forget(hipEventDestroy(event_));
  }

  void record(hipStream_t stream) const { MNISTD_HIP_CHECK(hipEventRecord(event_, stream)); }
  void synchronize() const { MNISTD_HIP_CHECK(hipEventSynchronize(event_)); }
  // Both must be past.
  double milliseconds_since(const StreamEvent& begin) const {
    float milliseconds = 0;
    MNISTD_HIP_CHECK(hipEventElapsedTime(&milliseconds, begin.event_, event_));
    return milliseconds;
  }

 private:
  hipEvent_t event_ = nullptr;
};

}  // namespace mnistd::gpu::hip
