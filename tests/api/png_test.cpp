#include <vector>

#include <doctest/doctest.h>
#include <png.h>

#include "api/png_image.h"

namespace mnistd::api {
namespace {

// Decoded by libpng's simplified reading side, which shares no code with how we call the writing side.
std::vector<std::uint8_t> decode(const std::string& bytes, png_uint_32 format, int* width, int* height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0);
  *width = static_cast<int>(image.width);
  *height = static_cast<int>(image.height);
  image.format = format;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) != 0);
  return pixels;
}

}  // namespace

TEST_CASE("pixels come back from a PNG, each as a square") {
  const std::vector<std::uint8_t> grey = {0, 1, 128, 254, 255, 77};
  int width = 0, height = 0;
  CHECK(decode(encode_png(grey, 3, 2, 1, 1), PNG_FORMAT_GRAY, &width, &height) == grey);
  CHECK(width == 3);
  CHECK(height == 2);
  CHECK(decode(encode_png(std::vector<std::uint8_t>{7, 9}, 2, 1, 1, 2), PNG_FORMAT_GRAY, &width, &height) ==
        std::vector<std::uint8_t>{7, 7, 9, 9, 7, 7, 9, 9});
  const std::vector<std::uint8_t> colour = {255, 0, 0, 0, 255, 0};
  CHECK(decode(encode_png(colour, 2, 1, 3, 1), PNG_FORMAT_RGB, &width, &height) == colour);
}

}  // namespace mnistd::api
