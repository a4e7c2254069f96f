#include "tests/gpu/formulas.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace mnistd::gpu {
namespace {

double tolerance_of_sum(std::size_t terms, double magnitude) {
  const double epsilon = std::ldexp(1.0, -24);
  return epsilon * (8.0 + static_cast<double>(terms) / 8.0) * magnitude;
}

// Entry (i, p) of X, by its definition.
double feature(const Images& images, std::size_t i, int p) {
  return p == kPixels ? 1.0 : images.pixels[i * kPixels + static_cast<std::size_t>(p)] / 255.0;
}

}  // namespace

Images random_images(int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Images images;
  images.pixels.resize(static_cast<std::size_t>(count) * kPixels);
  images.labels.resize(static_cast<std::size_t>(count));
  for (std::uint8_t& pixel : images.pixels) pixel = static_cast<std::uint8_t>(random() >> 24);
  for (std::uint8_t& label : images.labels) label = static_cast<std::uint8_t>(random() % kClasses);
  return images;
}

Images uniform_images(int count, std::uint8_t byte) {
  Images images;
  images.pixels.assign(static_cast<std::size_t>(count) * kPixels, byte);
  for (int i = 0; i < count; ++i) images.labels.push_back(static_cast<std::uint8_t>(i % kClasses));
  return images;
}

std::vector<float> random_floats(std::size_t count, float scale, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-scale, scale);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

Expected expected_scores(const Images& images, const std::vector<float>& weights) {
  Expected scores;
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    for (std::size_t c = 0; c < kClasses; ++c) {
      double sum = 0;
      double magnitude = 0;
      for (int p = 0; p < kFeatures; ++p) {
        const double term = weights[c * kFeatures + static_cast<std::size_t>(p)] * feature(images, i, p);
        sum += term;
        magnitude += std::fabs(term);
      }
      scores.value.push_back(sum);
      scores.tolerance.push_back(tolerance_of_sum(kFeatures, magnitude));
    }
  }
  return scores;
}

Expected expected_residual(const Images& images, const std::vector<float>& weights) {
  Expected residual = expected_scores(images, weights);
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    const std::size_t own = i * kClasses + images.labels[i];
    residual.value[own] -= 1.0;
    residual.tolerance[own] += tolerance_of_sum(1, 1.0);
  }
  return residual;
}

Expected expected_gradient(const Images& images, const Expected& residual) {
  const std::size_t count = images.labels.size();
  Expected gradient;
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (int p = 0; p < kFeatures; ++p) {
      double sum = 0;
      double magnitude = 0;
      double inherited = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double term = residual.value[i * kClasses + c] * feature(images, i, p);
        sum += term;
        magnitude += std::fabs(term);
        inherited += residual.tolerance[i * kClasses + c] * feature(images, i, p);
      }
      const double scale = 2.0 / static_cast<double>(count);
      gradient.value.push_back(scale * sum);
      gradient.tolerance.push_back(scale * (tolerance_of_sum(count, magnitude) + inherited));
    }
  }
  return gradient;
}

ExpectedStatistics expected_statistics(const Images& images, const std::vector<float>& weights) {
  const Expected scores = expected_scores(images, weights);
  const Expected residual = expected_residual(images, weights);
  ExpectedStatistics expected = {};
  for (std::size_t k = 0; k < residual.value.size(); ++k) {
    const double error = residual.tolerance[k];
    expected.squared_residual += residual.value[k] * residual.value[k];
    expected.tolerance += 2 * std::fabs(residual.value[k]) * error + error * error;
  }
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    const std::size_t own = i * kClasses + images.labels[i];
    double lead = std::numeric_limits<double>::infinity();  // over the best of the other classes
    double rounding = 0;
    for (std::size_t k = i * kClasses; k < (i + 1) * kClasses; ++k) {
      if (k != own) lead = std::min(lead, scores.value[own] - scores.value[k]);
      rounding = std::max(rounding, 2 * scores.tolerance[k]);
    }
    if (std::fabs(lead) <= rounding)
      ++expected.doubtful;
    else if (lead > 0)
      ++expected.certainly_correct;
  }
  return expected;
}

}  // namespace mnistd::gpu
