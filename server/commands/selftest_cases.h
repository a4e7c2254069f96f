// Inputs of one number of images, and what the reference makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device.h"

namespace mnistd::commands {

struct Expected {
  std::vector<float> value;
  std::vector<double> tolerance;
};

struct ExpectedStatistics {
  double squared_residual = 0;
  double tolerance = 0;
  std::uint32_t correct = 0;
  std::uint32_t doubtful = 0;  // images that rounding may count or not
};

struct SelftestCase {
  static constexpr std::uint32_t kSeed = 8906;
  static constexpr float kRate = 0.3f;

  int images = 0;
  std::vector<std::uint8_t> pixels, labels;
  std::vector<float> weights;         // 10×785
  std::vector<float> given_residual;  // n×10, what gradient is given

  Expected initial;  // initialise(kSeed)
  Expected scores, residual;
  ExpectedStatistics statistics;
  Expected gradient;        // of given_residual
  Expected fused_gradient;  // of loss_and_gradient
  Expected stepped;         // step from `weights` down `fused_gradient` by kRate
};

// reference: the CPU device with plain loops.
SelftestCase make_case(gpu::Device& reference, int images);

// The inputs alone.
SelftestCase random_inputs(int images);

}  // namespace mnistd::commands
