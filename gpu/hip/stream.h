// Owns a stream of the current device, one that does not wait for the default stream.
#pragma once

#include <utility>

#include "gpu/hip/check.h"

namespace mnistd::gpu::hip {

class Stream {
 public:
  Stream() { MNISTD_HIP_CHECK(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking)); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream() {
    if (stream_ != nullptr) forget(hipStreamDestroy(stream_));
  }

  hipStream_t get() const { return stream_; }
  void synchronize() const { MNISTD_HIP_CHECK(hipStreamSynchronize(stream_)); }

 private:
  hipStream_t stream_ = nullptr;
};

}  // namespace mnistd::gpu::hip
