// The linear classifier: ten scores from 784 pixels and a bias, on the host.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/dataset.h"

namespace mnistd::model {

using Scores = std::array<float, kClasses>;

struct Prediction {
  int label = 0;     // the highest score; the lowest class wins a tie
  float margin = 0;  // highest score less the second highest
  Scores scores{};
};

Prediction to_prediction(const Scores& scores);

// Where a training begins, 10×785: what gpu::Ops::initialise makes, to the bit.
std::vector<float> initial_weights(std::uint32_t seed);

// Immutable weights, ready to classify on any thread without a device: about a microsecond an image.
class LinearModel {
 public:
  // `weights`: 10×785, row-major, bias last. Throws std::invalid_argument for another size.
  explicit LinearModel(std::vector<float> weights);

  const std::vector<float>& weights() const { return weights_; }
  Scores scores(Image image) const;
  Prediction predict(Image image) const { return to_prediction(scores(image)); }
  // `pixels` is n×784; gives n labels or n×10 scores.
  std::vector<std::uint8_t> labels(std::span<const std::uint8_t> pixels) const;
  std::vector<float> batch_scores(std::span<const std::uint8_t> pixels) const;

 private:
  std::vector<float> weights_;
  std::vector<float>
      by_pixel_;  // 785×16: the ten weights of a pixel side by side, divided by 255 (the bias is not)
};

}  // namespace mnistd::model
