// The operations once more, in float64 from the formulas of README.md and independent of gpu/, with the error that
// float32 arithmetic may make. A tolerance is eps·(8 + K/8) of the sum of the magnitudes, K being the terms in a sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/ops.h"

namespace mnistd::gpu {

struct Images {
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
  LabelledImages view() const { return {pixels.data(), labels.data(), static_cast<int>(labels.size())}; }
};

Images random_images(int count, std::uint32_t seed);
Images uniform_images(int count, std::uint8_t byte);  // every pixel the same; labels run through the classes
std::vector<float> random_floats(std::size_t count, float scale, std::uint32_t seed);  // in ±scale

struct Expected {
  std::vector<double> value;
  std::vector<double> tolerance;
};

Expected expected_scores(const Images& images, const std::vector<float>& weights);
Expected expected_residual(const Images& images, const std::vector<float>& weights);
// Of a residual known up to its tolerance (zero where it is given exactly).
Expected expected_gradient(const Images& images, const Expected& residual);

struct ExpectedStatistics {
  double squared_residual;
  double tolerance;
  std::uint32_t certainly_correct;
  std::uint32_t doubtful;  // images whose two best scores are closer than rounding
};
ExpectedStatistics expected_statistics(const Images& images, const std::vector<float>& weights);

}  // namespace mnistd::gpu
