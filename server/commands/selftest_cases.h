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

struct ExpectedExactly {
  std::vector<double> value;
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
  static constexpr int kGramIterations = 3;
  static constexpr float kGramRate =
      0.003f;  // below the limit of random images, whose G/n has an eigenvalue of some 200

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

  std::vector<std::uint64_t> products;    // 785×785, exact
  std::vector<std::uint64_t> class_sums;  // 10×785, exact
  // The same over n, and as GramSystem has them, rows of gpu::kGramStride.
  std::vector<float> system_products, system_class_sums;
  ExpectedExactly descended;        // gram_descend from `weights`, kGramIterations by kGramRate
  ExpectedExactly descent_squared;  // n·loss of each of these iterations
};

// reference: the CPU device with plain loops. quick_reference: the one with vector units, for the exact sums over many images,
// which the loops would take half a minute for.
SelftestCase make_case(gpu::Device& reference, gpu::Device& quick_reference, int images);

// The inputs alone.
SelftestCase random_inputs(int images);

}  // namespace mnistd::commands
