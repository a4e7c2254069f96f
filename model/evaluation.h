// How well a model classifies a split.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/linear.h"

namespace mnistd::model {

struct Evaluation {
  std::array<std::array<int, kClasses>, kClasses> confusion{};  // [truth][predicted], numbers of images
  int correct() const;
  int total() const;
  double accuracy() const;              // 0..1
  double accuracy_of(int digit) const;  // 0..1 of the images that are `digit`; NaN where there are none
};

// `predicted` and `truth` have the same length.
Evaluation evaluate(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth);

}  // namespace mnistd::model
