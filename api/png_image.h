// Pixels as a PNG file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mnistd::api {

// `pixels` is height×width×channels bytes; 1 channel is grey, 3 are red, green, blue. Each pixel becomes a square of
// `scale`² pixels. Throws std::runtime_error where libpng fails.
std::string encode_png(std::span<const std::uint8_t> pixels, int width, int height, int channels, int scale);

}  // namespace mnistd::api
