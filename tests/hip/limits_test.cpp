// What the device says that it reaches and takes.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/hip/check.h"
#include "gpu/kernels/kernels.h"
#include "tests/hip/device_under_test.h"

namespace mnistd::gpu {
namespace {

std::uint64_t taken() {
  std::size_t free = 0;
  std::size_t total = 0;
  MNISTD_HIP_CHECK(hipMemGetInfo(&free, &total));
  return total - free;
}

}  // namespace

TEST_CASE("limits are positive and finite, and their memory is given back") {
  const auto device = open_under_test();
  const std::uint64_t in_use = device->memory_in_use(), scratch = device->scratch_bytes();
  const Limits limits = device->measure_limits();
  for (double limit : {limits.bytes, limits.flops, limits.byte_operations}) {
    CHECK(limit > 1e3);   // an emulator
    CHECK(limit < 1e16);  // more than any GPU's
  }
  CHECK(device->memory_in_use() == in_use);
  CHECK(device->scratch_bytes() == scratch);
}

TEST_CASE("the kernels of the limits compute what they should") {
  const auto device = open_under_test();
  constexpr int kBlocks = 2;
  constexpr std::size_t kThreads = kBlocks * kernels::kLimitThreads;

  // From 0 upwards, v + Σ byte i of v · byte i of 0x03010702; mod 2³² as in any order.
  Buffer<std::uint32_t> counts(*device, kThreads);
  kernels::limit_dot4(nullptr, kBlocks, 5, counts.data());
  MNISTD_HIP_CHECK(hipStreamSynchronize(nullptr));
  const std::vector<std::uint32_t> found = counts.to_vector();
  for (std::size_t t : {std::size_t{0}, std::size_t{77}, kThreads - 1}) {
    std::uint32_t expected = 0;
    for (std::uint32_t c = 0; c < kernels::kLimitChains; ++c) {
      std::uint32_t v = static_cast<std::uint32_t>(t % kernels::kLimitThreads) + c;
      for (int round = 0; round < 5; ++round)
        v += (v & 255) * 2 + (v >> 8 & 255) * 7 + (v >> 16 & 255) + (v >> 24) * 3;
      expected += v;
    }
    CHECK(found[t] == expected);
  }

  Buffer<float> sums(*device, kThreads);
  kernels::limit_fma(nullptr, kBlocks, 3, sums.data());
  MNISTD_HIP_CHECK(hipStreamSynchronize(nullptr));
  for (std::size_t t : {std::size_t{0}, std::size_t{77}, kThreads - 1}) {
    double expected = 0;
    for (int c = 0; c < kernels::kLimitChains; ++c) {
      double v = static_cast<double>(t % kernels::kLimitThreads) + c;
      for (int round = 0; round < 3; ++round) v = v * 0.999 + 0.5;
      expected += v;
    }
    CHECK(static_cast<double>(sums.to_vector()[t]) == doctest::Approx(expected).epsilon(1e-5));
  }

  std::vector<std::uint8_t> pattern(3 * kernels::kLimitCopyBytes);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  const Buffer<std::uint8_t> from(*device, pattern);
  Buffer<std::uint8_t> to(*device, std::vector<std::uint8_t>(pattern.size() + 1, 0xab));
  kernels::limit_copy(nullptr, from.data(), to.data(), pattern.size());
  MNISTD_HIP_CHECK(hipStreamSynchronize(nullptr));
  pattern.push_back(0xab);
  CHECK(to.to_vector() == pattern);
}

TEST_CASE("scratch memory is counted") {
  const auto device = open_under_test();
  constexpr int kImages = 130;
  const Buffer<std::uint8_t> pixels(*device, std::vector<std::uint8_t>(std::size_t{kImages} * kPixels, 1));
  const Buffer<std::uint8_t> labels(*device, std::vector<std::uint8_t>(kImages, 1));
  Buffer<float> weights(*device, kWeights), gradient(*device, kWeights);
  Buffer<PassStatistics> statistics(*device, 1);
  device->ops().initialise(weights.data(), 1);
  const std::uint64_t in_use = device->memory_in_use(), before = taken(), scratch = device->scratch_bytes();
  device->ops().loss_and_gradient({pixels.data(), labels.data(), kImages}, weights.data(), gradient.data(),
                                  statistics.data());
  device->synchronize();
  CHECK(device->memory_in_use() == in_use);
  CHECK(device->scratch_bytes() > scratch);
#if defined(MNISTD_PLATFORM_EMULATOR)  // whose driver counts to the byte
  CHECK(taken() - before == device->scratch_bytes() - scratch);
#else
  CHECK(taken() >= before);
#endif
}

TEST_CASE("emptying the cache changes nothing that a caller sees") {
  const auto device = open_under_test();
  const Buffer<float> values(*device, std::vector<float>{1, 2, 3});
  const std::uint64_t in_use = device->memory_in_use(), scratch = device->scratch_bytes();
  CHECK(device->info().cache_bytes > 0);
  for (int k = 0; k < 2; ++k) device->empty_cache();
  CHECK(values.to_vector() == std::vector<float>{1, 2, 3});
  CHECK(device->memory_in_use() == in_use);
  CHECK(device->scratch_bytes() == scratch);
}

}  // namespace mnistd::gpu
