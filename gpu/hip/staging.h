// Copies between pageable host memory and the device through a little pinned memory.
//
// The driver copies straight from pinned memory only; from any other it would stage the bytes itself, in ways and with waits
// that differ between drivers. Two halves are used in turn: while the device copies one, the host fills or empties the
// other. An upload returns when the last piece lies in pinned memory, not when it has arrived: the caller's bytes are free
// by then, and what follows on the stream waits for them anyway.
#pragma once

#include <array>
#include <cstddef>

#include "gpu/hip/stream_event.h"

namespace mnistd::gpu::hip {

class Staging {
 public:
  // Of the current device; copies are put on `stream`, which must outlive this.
  explicit Staging(hipStream_t stream);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  void upload(void* device, const void* host, std::size_t bytes);
  void download(void* host, const void* device, std::size_t bytes);

 private:
  static constexpr std::size_t kHalfBytes = std::size_t{4} << 20;
  struct Half {
    std::byte* pinned = nullptr;
    StreamEvent done;  // of the last copy from or to it
  };

  Half& next_half();

  hipStream_t stream_;
  void* pinned_ = nullptr;
  std::array<Half, 2> halves_;
  std::size_t turn_ = 0;
};

}  // namespace mnistd::gpu::hip
