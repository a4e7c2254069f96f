#include "gpu/bench/images.h"

#include <algorithm>
#include <random>
#include <span>

namespace mnistd::gpu::bench {

HostImages random_images(int count) {
  std::mt19937 random(8906);
  HostImages images;
  images.source = "random bytes";
  images.pixels.resize(static_cast<std::size_t>(count) * kPixels);
  for (std::uint8_t& pixel : images.pixels) pixel = static_cast<std::uint8_t>(random() >> 24);
  images.labels.resize(static_cast<std::size_t>(count));
  for (std::uint8_t& label : images.labels) label = static_cast<std::uint8_t>(random() % kClasses);
  return images;
}

ResidentImages::ResidentImages(Device& device, const HostImages& host, int count)
    : count_(count),
      pixels_(device, static_cast<std::size_t>(count) * kPixels),
      labels_(device, static_cast<std::size_t>(count)) {
  for (int first = 0; first < count; first += host.count()) {
    const std::size_t offset = static_cast<std::size_t>(first);
    const std::size_t size = static_cast<std::size_t>(std::min(host.count(), count - first));
    device.upload(pixels_.data() + offset * kPixels, host.pixels.data(), size * kPixels);
    device.upload(labels_.data() + offset, host.labels.data(), size);
  }
}

}  // namespace mnistd::gpu::bench
