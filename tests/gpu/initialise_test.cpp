#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_ops.h"
#include "tests/gpu/guarded.h"

namespace mnistd::gpu {
namespace {

constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32;

// The fraction u of splitmix32(i + seed), with products and sums that cannot wrap and remainders taken by division.
double fraction(std::uint64_t i, std::uint64_t seed) {
  std::uint64_t s = (i + seed) % kTwoTo32;
  s = ((s ^ (s / 65536)) * 2246822507u) % kTwoTo32;
  s = ((s ^ (s / 8192)) * 3266489909u) % kTwoTo32;
  s = s ^ (s / 65536);
  return static_cast<double>(s / 256) / 16777216.0;
}

struct Known {
  std::size_t index;
  std::uint32_t seed;
  double weight;
};

// From arbitrary-precision integers in Python.
const Known kKnown[] = {
    {0, 1234567u, 0.001718311905860901},       {1, 1234567u, -0.004261813759803772},
    {784, 1234567u, -0.002068195343017578},    {785, 1234567u, 0.0007662665843963623},
    {7849, 1234567u, -0.001492428183555603},   {0, 0u, -0.005},
    {1, 0u, -0.0018240118026733399},           {0, 4294967295u, 7.590234279632569e-05},
    {7849, 4294960000u, 0.004476924538612366},
};

}  // namespace

TEST_CASE("weights start at splitmix32 fractions") {
  std::vector<std::unique_ptr<Ops>> implementations;
  implementations.push_back(std::make_unique<cpu::ReferenceOps>());
  implementations.push_back(std::make_unique<cpu::SimdOps>(1));
  for (const auto& ops : implementations) {
    for (std::uint32_t seed : {0u, 1u, 1234567u, 4294960000u, 4294967295u}) {
      CAPTURE(seed);
      GuardedFloats weights(kWeights);
      ops->initialise(weights.data(), seed);
      CHECK(weights.intact());
      int off = 0;
      for (std::size_t i = 0; i < kWeights; ++i) {
        const double expected = 0.01 * (fraction(i, seed) - 0.5);
        if (!(std::fabs(weights[i] - expected) <= std::ldexp(std::fabs(expected), -24))) ++off;
      }
      CHECK(off == 0);
      for (const Known& known : kKnown) {
        if (known.seed == seed) CHECK(weights[known.index] == static_cast<float>(known.weight));
      }
    }
  }
}

}  // namespace mnistd::gpu
