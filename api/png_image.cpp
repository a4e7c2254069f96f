#include "api/png_image.h"

#include <cstddef>
#include <stdexcept>
#include <vector>

#include <png.h>

namespace mnistd::api {
namespace {

std::vector<std::uint8_t> enlarge(std::span<const std::uint8_t> pixels, int width, int height, int channels,
                                  int scale) {
  std::vector<std::uint8_t> large;
  large.reserve(pixels.size() * static_cast<std::size_t>(scale * scale));
  for (int y = 0; y < height * scale; ++y) {
    const auto row = pixels.subspan(static_cast<std::size_t>(y / scale * width * channels));
    for (int x = 0; x < width * scale; ++x)
      for (int c = 0; c < channels; ++c)
        large.push_back(row[static_cast<std::size_t>(x / scale * channels + c)]);
  }
  return large;
}

}  // namespace

std::string encode_png(std::span<const std::uint8_t> pixels, int width, int height, int channels, int scale) {
  const std::vector<std::uint8_t> large = enlarge(pixels, width, height, channels, scale);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width * scale);
  image.height = static_cast<png_uint_32>(height * scale);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, large.data(), 0, nullptr) == 0)
    throw std::runtime_error(std::string("libpng: ") + image.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace mnistd::api
