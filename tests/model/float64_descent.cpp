#include "tests/model/float64_descent.h"

#include <algorithm>
#include <cmath>

namespace mnistd::test {

Float64Descent::Float64Descent(const model::Split& train, std::uint32_t seed) : train_(train) {
  for (std::uint32_t i = 0; i < 7850; ++i) {
    std::uint32_t s = i + seed;
    s = (s ^ s >> 16) * 0x85ebca6bU;
    s = (s ^ s >> 13) * 0xc2b2ae35U;
    s ^= s >> 16;
    weights_.push_back(0.01 * ((s >> 8) / 16777216.0 - 0.5));
  }
}

double Float64Descent::score(const model::Split& split, int image, int digit) const {
  double sum = weights_[digit * 785 + 784];
  for (int pixel = 0; pixel < 784; ++pixel)
    sum += weights_[digit * 785 + pixel] * (split.pixels[image * 784 + pixel] / 255.0);
  return sum;
}

Float64Descent::Pass Float64Descent::pass() const {
  Pass pass;
  for (int image = 0; image < train_.count(); ++image)
    for (int digit = 0; digit < 10; ++digit) {
      const double residual = score(train_, image, digit) - (train_.labels[image] == digit ? 1 : 0);
      pass.loss += residual * residual / train_.count();
      pass.largest_residual = std::max(pass.largest_residual, std::abs(residual));
    }
  pass.correct = correct_of(train_);
  return pass;
}

void Float64Descent::step(double rate) {
  std::vector<double> gradient(7850);
  for (int image = 0; image < train_.count(); ++image)
    for (int digit = 0; digit < 10; ++digit) {
      const double residual = score(train_, image, digit) - (train_.labels[image] == digit ? 1 : 0);
      for (int pixel = 0; pixel < 784; ++pixel)
        gradient[digit * 785 + pixel] += residual * (train_.pixels[image * 784 + pixel] / 255.0);
      gradient[digit * 785 + 784] += residual;
    }
  for (int i = 0; i < 7850; ++i) weights_[i] -= rate * 2 / train_.count() * gradient[i];
}

int Float64Descent::correct_of(const model::Split& split) const {
  int correct = 0;
  for (int image = 0; image < split.count(); ++image) {
    int best = 0;
    double best_score = score(split, image, 0);
    for (int digit = 1; digit < 10; ++digit) {
      const double other = score(split, image, digit);
      if (other > best_score) {
        best = digit;
        best_score = other;
      }
    }
    correct += best == split.labels[image] ? 1 : 0;
  }
  return correct;
}

}  // namespace mnistd::test
