// What platform/emulator.h gives to kernels for bytes.
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"
#include "tests/emulator/faults.h"

namespace mnistd::gpu::emulator {
namespace {

constexpr int kDepth = 32;
constexpr int kRows = 16;
constexpr int kColumns = 8;

// left: 16 rows of 32 bytes; right: 8 columns of 32 bytes, in words of four.
__global__ void multiply(const std::uint32_t* left, const std::uint32_t* right, std::uint32_t* sums) {
  if constexpr (platform::kHasByteMatrices) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int g = lane / 4;
    const int t = lane % 4;
    const std::uint32_t a[4] = {left[8 * g + t], left[8 * (g + 8) + t], left[8 * g + t + 4],
                                left[8 * (g + 8) + t + 4]};
    const std::uint32_t b[2] = {right[8 * g + t], right[8 * g + t + 4]};
    std::uint32_t c[4] = {1, 2, 3, 4};
    platform::multiply_byte_matrices(a, b, c);
    for (int k = 0; k < 4; ++k) sums[(g + k / 2 * 8) * kColumns + 2 * t + k % 2] = c[k];
  }
}

__global__ void store_from(int first) {
  __shared__ platform::Shared<std::uint32_t, 8> row;
  const std::uint32_t values[4] = {1, 2, 3, 4};
  platform::store_four(row, first, values);
}

}  // namespace

TEST_CASE("bytes are permuted by the selector's digits") {
  constexpr std::uint32_t kFirst = 0x33221100, kSecond = 0x77665544;
  CHECK(platform::permute_bytes<0x3210>(kFirst, kSecond) == kFirst);
  CHECK(platform::permute_bytes<0x7654>(kFirst, kSecond) == kSecond);
  CHECK(platform::permute_bytes<0x5140>(kFirst, kSecond) == 0x55114400);
  CHECK(platform::permute_bytes<0x0007>(kFirst, kSecond) == 0x00000077);
}

TEST_CASE("matrices of bytes are multiplied") {
  if (!platform::kHasByteMatrices) return;
  std::mt19937 random(3);
  std::vector<std::uint8_t> left(kRows * kDepth), right(kColumns * kDepth);
  for (auto* bytes : {&left, &right}) {
    for (std::uint8_t& byte : *bytes) byte = static_cast<std::uint8_t>(random());
  }
  left[0] = right[0] = 255;
  const auto words = [](const std::vector<std::uint8_t>& bytes) {
    std::vector<std::uint32_t> packed(bytes.size() / 4);
    for (std::size_t i = 0; i < bytes.size(); ++i) packed[i / 4] |= std::uint32_t{bytes[i]} << (8 * (i % 4));
    return packed;
  };
  DeviceArray<std::uint32_t> a(words(left)), b(words(right)), sums(kRows * kColumns);
  hipLaunchKernelGGL(multiply, 1, 32, 0, nullptr, a.data(), b.data(), sums.data());
  const std::vector<std::uint32_t> found = sums.to_vector();
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      std::uint32_t sum = static_cast<std::uint32_t>(1 + row / 8 * 2 + column % 2);
      for (std::size_t k = 0; k < kDepth; ++k) {
        sum += std::uint32_t{left[row * kDepth + k]} * right[column * kDepth + k];
      }
      CHECK(found[row * kColumns + column] == sum);
    }
  }
}

TEST_CASE("four words are stored at a multiple of four only") {
  CHECK_NOTHROW(hipLaunchKernelGGL(store_from, 1, 1, 0, nullptr, 4));
  CHECK(
      contains(fault_of([] { hipLaunchKernelGGL(store_from, 1, 1, 0, nullptr, 2); }), "no multiple of four"));
}

}  // namespace mnistd::gpu::emulator
