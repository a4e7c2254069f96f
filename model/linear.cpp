#include "model/linear.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace mnistd::model {
namespace {

// Ten weights and six zeros: whole vectors for every vector width, so that the compiler needs no tail.
constexpr int kLanes = 16;
constexpr int kFeatures = gpu::kFeatures;

int number_of_images(std::span<const std::uint8_t> pixels) {
  if (pixels.size() % kPixels != 0)
    throw std::invalid_argument(std::to_string(pixels.size()) + " pixels; expected a multiple of 784");
  return static_cast<int>(pixels.size() / kPixels);
}

Image image_at(std::span<const std::uint8_t> pixels, int index) {
  return Image(pixels.data() + std::size_t{kPixels} * index, kPixels);
}

// The mixer of the original program.
std::uint32_t splitmix32(std::uint32_t s) {
  s = (s ^ s >> 16) * 0x85ebca6bU;
  s = (s ^ s >> 13) * 0xc2b2ae35U;
  return s ^ s >> 16;
}

}  // namespace

std::vector<float> initial_weights(std::uint32_t seed) {
  std::vector<float> weights(gpu::kWeights);
  for (std::uint32_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(0.01 * ((splitmix32(i + seed) >> 8) / 16777216.0 - 0.5));
  return weights;
}

Prediction to_prediction(const Scores& scores) {
  Prediction prediction;
  prediction.scores = scores;
  for (int digit = 1; digit < kClasses; ++digit)
    if (scores[digit] > scores[prediction.label]) prediction.label = digit;
  int second = prediction.label == 0 ? 1 : 0;
  for (int digit = 0; digit < kClasses; ++digit)
    if (digit != prediction.label && scores[digit] > scores[second]) second = digit;
  prediction.margin = scores[prediction.label] - scores[second];
  return prediction;
}

LinearModel::LinearModel(std::vector<float> weights)
    : weights_(std::move(weights)), by_pixel_(std::size_t{kFeatures} * kLanes) {
  if (weights_.size() != gpu::kWeights)
    throw std::invalid_argument(std::to_string(weights_.size()) +
                                " weights; expected 10x785 = " + std::to_string(gpu::kWeights));
  for (int digit = 0; digit < kClasses; ++digit)
    for (int feature = 0; feature < kFeatures; ++feature) {
      const float weight = weights_[std::size_t{kFeatures} * digit + feature];
      by_pixel_[std::size_t{kLanes} * feature + digit] = feature < kPixels ? weight / 255.0F : weight;
    }
}

Scores LinearModel::scores(Image image) const {
  float sums[kLanes];
  std::memcpy(sums, by_pixel_.data() + std::size_t{kPixels} * kLanes, sizeof sums);
  const float* const by_pixel = by_pixel_.data();
  // Four pixels in five are paper: eight are passed over at a time where all are.
  static_assert(kPixels % 8 == 0);
  for (int first = 0; first < kPixels; first += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, image.data() + first, sizeof eight);
    if (eight == 0) continue;
    for (int pixel = first; pixel < first + 8; ++pixel) {
      if (image[pixel] == 0) continue;
      const float value = image[pixel];
      const float* const weights = by_pixel + std::size_t{kLanes} * pixel;
      for (int lane = 0; lane < kLanes; ++lane) sums[lane] += value * weights[lane];
    }
  }
  Scores scores;
  std::memcpy(scores.data(), sums, sizeof scores);
  return scores;
}

std::vector<std::uint8_t> LinearModel::labels(std::span<const std::uint8_t> pixels) const {
  std::vector<std::uint8_t> labels(number_of_images(pixels));
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::uint8_t>(predict(image_at(pixels, static_cast<int>(i))).label);
  return labels;
}

std::vector<float> LinearModel::batch_scores(std::span<const std::uint8_t> pixels) const {
  const int count = number_of_images(pixels);
  std::vector<float> all(std::size_t{kClasses} * count);
  for (int i = 0; i < count; ++i) {
    const Scores one = scores(image_at(pixels, i));
    std::memcpy(all.data() + std::size_t{kClasses} * i, one.data(), sizeof one);
  }
  return all;
}

}  // namespace mnistd::model
