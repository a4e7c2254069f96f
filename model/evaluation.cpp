#include "model/evaluation.h"

#include <limits>
#include <stdexcept>

namespace mnistd::model {

int Evaluation::correct() const {
  int sum = 0;
  for (int digit = 0; digit < kClasses; ++digit) sum += confusion[digit][digit];
  return sum;
}

int Evaluation::total() const {
  int sum = 0;
  for (const auto& row : confusion)
    for (const int count : row) sum += count;
  return sum;
}

double Evaluation::accuracy() const {
  const int images = total();
  return images == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(correct()) / images;
}

double Evaluation::accuracy_of(int digit) const {
  int images = 0;
  for (const int count : confusion.at(digit)) images += count;
  if (images == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(confusion[digit][digit]) / images;
}

Evaluation evaluate(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth) {
  if (predicted.size() != truth.size())
    throw std::invalid_argument(std::to_string(predicted.size()) + " predictions for " +
                                std::to_string(truth.size()) + " labels");
  Evaluation evaluation;
  for (std::size_t i = 0; i < truth.size(); ++i) ++evaluation.confusion.at(truth[i]).at(predicted[i]);
  return evaluation;
}

}  // namespace mnistd::model
