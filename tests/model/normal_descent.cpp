#include "tests/model/normal_descent.h"

namespace mnistd::test {

NormalDescent::NormalDescent(const model::Gram& gram, std::uint32_t seed)
    : products_(model::normal_products(gram)), class_sums_(model::normal_class_sums(gram)), image_(7850) {
  for (std::uint32_t i = 0; i < 7850; ++i) {
    std::uint32_t s = i + seed;
    s = (s ^ s >> 16) * 0x85ebca6bU;
    s = (s ^ s >> 13) * 0xc2b2ae35U;
    s ^= s >> 16;
    weights_.push_back(static_cast<float>(0.01 * ((s >> 8) / 16777216.0 - 0.5)));
  }
}

void NormalDescent::multiply() {
  if (current_) return;
  for (int c = 0; c < 10; ++c) {
    double* const image = image_.data() + 785 * c;
    for (int b = 0; b < 785; ++b) image[b] = 0;
    for (int a = 0; a < 785; ++a)
      for (int b = 0; b < 785; ++b) image[b] += weights_[785 * c + a] * products_[785 * a + b];
  }
  current_ = true;
}

double NormalDescent::loss() {
  multiply();
  double loss = 1;
  for (int i = 0; i < 7850; ++i) loss += weights_[i] * (image_[i] - 2 * class_sums_[i]);
  return loss;
}

void NormalDescent::step(double rate) {
  multiply();
  for (int i = 0; i < 7850; ++i) weights_[i] -= 2 * rate * (image_[i] - class_sums_[i]);
  current_ = false;
}

}  // namespace mnistd::test
