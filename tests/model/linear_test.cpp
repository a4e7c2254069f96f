#include "model/linear.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/model/synthetic.h"

using namespace mnistd;

namespace {

std::vector<float> random_weights(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> weights(7850);
  for (float& weight : weights) weight = uniform(random);
  return weights;
}

}  // namespace

TEST_CASE("scores are those of a product in float64") {
  const auto weights = random_weights(1);
  const model::LinearModel linear(weights);
  CHECK(linear.weights() == weights);
  const auto dataset = test::synthetic_dataset(20, 1, 2);
  const auto labels = linear.labels(dataset->train.pixels);
  const auto all_scores = linear.batch_scores(dataset->train.pixels);
  REQUIRE(labels.size() == 20);
  REQUIRE(all_scores.size() == 200);
  for (int i = 0; i < 20; ++i) {
    const auto prediction = linear.predict(dataset->train.image(i));
    std::vector<double> expected(10);
    for (int digit = 0; digit < 10; ++digit) {
      expected[digit] = weights[digit * 785 + 784];
      for (int pixel = 0; pixel < 784; ++pixel)
        expected[digit] += weights[digit * 785 + pixel] * (dataset->train.pixels[i * 784 + pixel] / 255.0);
      CHECK(std::abs(prediction.scores[digit] - expected[digit]) < 2e-5);
      CHECK(all_scores[i * 10 + digit] == prediction.scores[digit]);
    }
    const auto best = std::max_element(expected.begin(), expected.end());
    CHECK(prediction.label == best - expected.begin());
    CHECK(labels[i] == prediction.label);
    const double highest = *best;
    *best = -1e9;
    CHECK(std::abs(prediction.margin - (highest - *std::max_element(expected.begin(), expected.end()))) <
          4e-5);
  }
}

TEST_CASE("every single pixel meets its own weight, and a blank image the biases") {
  const auto weights = random_weights(3);
  const model::LinearModel linear(weights);
  std::vector<std::uint8_t> pixels(784);
  const model::Image image(pixels.data(), 784);
  for (int digit = 0; digit < 10; ++digit) CHECK(linear.scores(image)[digit] == weights[digit * 785 + 784]);
  for (int pixel = 0; pixel < 784; ++pixel) {
    pixels[pixel] = 255;
    for (int digit = 0; digit < 10; ++digit)
      CHECK(std::abs(linear.scores(image)[digit] - weights[digit * 785 + 784] -
                     weights[digit * 785 + pixel]) < 1e-6);
    pixels[pixel] = 0;
  }
}

TEST_CASE("the lowest class wins a tie; the margin is to the second") {
  const auto tie = model::to_prediction({0, 2, 2, 1, 2, 0, 0, 0, 0, 0});
  CHECK(tie.label == 1);
  CHECK(tie.margin == 0);
  const auto first = model::to_prediction({5, 1, 2, 3, 4.5F, 0, 0, 0, 0, 0});
  CHECK(first.label == 0);
  CHECK(first.margin == 0.5F);
  const auto last = model::to_prediction({-9, -8, -7, -6, -5, -4, -3, -2.5F, -2, -1});
  CHECK(last.label == 9);
  CHECK(last.margin == 1);
  CHECK(model::to_prediction({}).label == 0);
}

TEST_CASE("sizes that are not those of weights or of images") {
  CHECK_THROWS_AS(model::LinearModel(std::vector<float>(7840)), std::invalid_argument);
  const model::LinearModel linear(random_weights(4));
  const std::vector<std::uint8_t> pixels(785);
  CHECK_THROWS_AS(linear.labels(pixels), std::invalid_argument);
  CHECK_THROWS_AS(linear.batch_scores(pixels), std::invalid_argument);
  CHECK(linear.labels({}).empty());
}
