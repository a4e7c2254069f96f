// The images that are computed on: on the host, and as many as are wanted on a device, where they are repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace mnistd::gpu::bench {

struct HostImages {
  std::string source;  // "data/mnist", "random bytes"
  std::vector<std::uint8_t> pixels, labels;
  int count() const { return static_cast<int>(labels.size()); }
};

// No image has blanks that a kernel could skip. The same in every run.
HostImages random_images(int count);

// Image i on the device is image i mod host.count() of the host. So millions need the host's memory for one copy only.
class ResidentImages {
 public:
  ResidentImages(Device& device, const HostImages& host, int count);
  LabelledImages view() const { return {pixels_.data(), labels_.data(), count_}; }
  std::uint64_t bytes() const { return pixels_.size() + labels_.size(); }

 private:
  int count_;
  Buffer<std::uint8_t> pixels_, labels_;
};

}  // namespace mnistd::gpu::bench
