#include "gpu/hip/staging.h"

#include <algorithm>
#include <cstring>

namespace mnistd::gpu::hip {

Staging::Staging(hipStream_t stream) : stream_(stream) {
  MNISTD_HIP_CHECK(hipHostMalloc(&pinned_, 2 * kHalfBytes, hipHostMallocDefault));
  halves_[0].pinned = static_cast<std::byte*>(pinned_);
  halves_[1].pinned = halves_[0].pinned + kHalfBytes;
  for (const Half& half : halves_) half.done.record(stream_);
}

Staging::~Staging() { forget(hipHostFree(pinned_)); }

Staging::Half& Staging::next_half() {
  turn_ = 1 - turn_;
  return halves_[turn_];
}

void Staging::upload(void* device, const void* host, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(device);
  const auto* from = static_cast<const std::byte*>(host);
  for (std::size_t done = 0; done < bytes; done += kHalfBytes) {
    const std::size_t piece = std::min(kHalfBytes, bytes - done);
    Half& half = next_half();
    half.done.synchronize();
    std::memcpy(half.pinned, from + done, piece);
    MNISTD_HIP_CHECK(hipMemcpyAsync(to + done, half.pinned, piece, hipMemcpyHostToDevice, stream_));
    half.done.record(stream_);
  }
}

void Staging::download(void* host, const void* device, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(host);
  const auto* from = static_cast<const std::byte*>(device);
  Half* before = nullptr;  // holds the piece that precedes `done`
  std::size_t before_bytes = 0;
  for (std::size_t done = 0; done < bytes || before != nullptr; done += kHalfBytes) {
    Half* half = nullptr;
    const std::size_t piece = done < bytes ? std::min(kHalfBytes, bytes - done) : 0;
    if (piece > 0) {
      half = &next_half();
      MNISTD_HIP_CHECK(hipMemcpyAsync(half->pinned, from + done, piece, hipMemcpyDeviceToHost, stream_));
      half->done.record(stream_);
    }
    if (before != nullptr) {
      before->done.synchronize();
      std::memcpy(to + done - kHalfBytes, before->pinned, before_bytes);
    }
    before = half;
    before_bytes = piece;
  }
}

}  // namespace mnistd::gpu::hip
