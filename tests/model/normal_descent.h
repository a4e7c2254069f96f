// Gradient descent in float64 by the normal equations, step by step: what the closed form must agree with.
#pragma once

#include <cstdint>
#include <vector>

#include "model/gram.h"

namespace mnistd::test {

class NormalDescent {
 public:
  NormalDescent(const model::Gram& gram, std::uint32_t seed);
  double loss();           // of the weights as they are
  void step(double rate);  // one update; the rate is a float's value where a training is to be followed
  const std::vector<double>& weights() const { return weights_; }  // 10×785

 private:
  void multiply();
  const std::vector<double> products_, class_sums_;
  std::vector<double> weights_, image_;  // image_ = W G
  bool current_ = false;
};

}  // namespace mnistd::test
