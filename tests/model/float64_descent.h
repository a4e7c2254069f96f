// Gradient descent in float64, from the formulas of README.md, "What it computes", and without the code under test.
#pragma once

#include <cstdint>
#include <vector>

#include "model/dataset.h"

namespace mnistd::test {

class Float64Descent {
 public:
  Float64Descent(const model::Split& train, std::uint32_t seed);

  struct Pass {
    double loss = 0;
    int correct = 0;
    double largest_residual = 0;
  };
  Pass pass() const;       // of the weights as they are
  void step(double rate);  // one update
  int correct_of(const model::Split& split) const;
  const std::vector<double>& weights() const { return weights_; }  // 10×785

 private:
  double score(const model::Split& split, int image, int digit) const;
  const model::Split& train_;
  std::vector<double> weights_;
};

}  // namespace mnistd::test
