#include "gpu/bench/truth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gpu/bench/exact_gram.h"

namespace mnistd::gpu::bench {
namespace {

constexpr double kUlp = 1.0 / (1 << 24);  // half a unit in the last place of a float near 1
constexpr double kSumUlps = 64;           // of one sum
constexpr double kInheritedUlps = 8;  // of sums of what is rounded already, where errors have no common sign
constexpr double kLossTolerance = 1e-5;  // relative: what is promised
constexpr std::size_t kRow = kFeatures;

std::vector<float> random_weights() {
  std::mt19937 random(kWeights);
  std::vector<float> weights(kWeights);
  for (float& weight : weights) weight = static_cast<float>(0.05 * (random() / 2147483648.0 - 1.0));
  return weights;
}

std::vector<float> initial_weights_of(std::uint32_t seed) {
  std::vector<float> weights(kWeights);
  for (std::uint32_t i = 0; i < kWeights; ++i) {
    std::uint32_t s = i + seed;
    s = (s ^ s >> 16) * 0x85ebca6bu;
    s = (s ^ s >> 13) * 0xc2b2ae35u;
    s = s ^ s >> 16;
    weights[i] = static_cast<float>(0.01 * ((s >> 8) / 16777216.0 - 0.5));
  }
  return weights;
}

// Rows over n, pixels divided by 255: what is exact in integers becomes float64.
std::vector<double> means(const std::vector<std::uint64_t>& sums, std::size_t rows, bool products,
                          int images) {
  std::vector<double> result(sums.size());
  for (std::size_t a = 0; a < rows; ++a) {
    for (std::size_t b = 0; b < kRow; ++b) {
      const double row_scale = products && a != kPixels ? 255.0 : 1.0;
      const double scale = row_scale * (b != kPixels ? 255.0 : 1.0);
      result[kRow * a + b] = static_cast<double>(sums[kRow * a + b]) / (scale * images);
    }
  }
  return result;
}

std::vector<float> padded(const std::vector<double>& rows) {
  const std::size_t count = rows.size() / kRow;
  std::vector<float> result(count * kGramStride, 0.0f);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < kRow; ++b)
      result[a * kGramStride + b] = static_cast<float>(rows[a * kRow + b]);
  }
  return result;
}

double norm(const double* values, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return std::sqrt(sum);
}

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

}  // namespace

Truth::Truth(const HostImages& images, int count)
    : count_(count),
      copy_(std::min(count, images.count())),
      weights_(random_weights()),
      initial_(initial_weights_of(kSeed)),
      labels_(images.labels.begin(), images.labels.begin() + copy_) {
  ExactGram exact = exact_gram_repeated(images, count);
  products_ = std::move(exact.products);
  class_sums_ = std::move(exact.class_sums);
  mean_products_ = means(products_, kRow, true, count);
  mean_class_sums_ = means(class_sums_, kClasses, false, count);
  for (std::size_t a = 0; a < kRow; ++a) trace_ += mean_products_[kRow * a + a];
  score_images(images);
}

void Truth::score_images(const HostImages& images) {
  // Feature-major, so that the ten classes of a pixel lie side by side.
  std::vector<double> columns(kWeights);
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t a = 0; a < kRow; ++a) columns[kClasses * a + c] = weights_[kRow * c + a];
  }
  const std::vector<double> weights = doubles(weights_);
  for (std::size_t c = 0; c < kClasses; ++c) class_norms_.push_back(norm(weights.data() + kRow * c, kRow));
  const std::size_t copies = static_cast<std::size_t>(count_ / copy_);
  const std::size_t rest = static_cast<std::size_t>(count_ % copy_);
  scores_.resize(static_cast<std::size_t>(copy_) * kClasses);
  norms_.resize(static_cast<std::size_t>(copy_));
  for (std::size_t i = 0; i < norms_.size(); ++i) {
    const std::uint8_t* image = images.pixels.data() + i * kPixels;
    double sums[kClasses];
    std::copy_n(columns.data() + kClasses * std::size_t{kPixels}, kClasses, sums);
    double squares = 1;
    for (std::size_t a = 0; a < kPixels; ++a) {
      if (image[a] == 0) continue;
      const double x = image[a] / 255.0;
      squares += x * x;
      for (std::size_t c = 0; c < kClasses; ++c) sums[c] += columns[kClasses * a + c] * x;
    }
    std::copy_n(sums, kClasses, scores_.data() + i * kClasses);
    norms_[i] = std::sqrt(squares);
    const std::uint32_t times = static_cast<std::uint32_t>(copies + (i < rest ? 1 : 0));
    double lead = std::numeric_limits<double>::infinity();
    double rounding = 0;
    double squared = 0;
    for (int c = 0; c < kClasses; ++c) {
      const Expected residual = this->residual(static_cast<int>(i), c);
      squared += residual.value * residual.value;
      if (c != labels_[i]) lead = std::min(lead, sums[labels_[i]] - sums[c]);
      rounding = std::max(rounding, 2 * residual.tolerance);
    }
    squared_residual_ += squared * times;
    if (std::fabs(lead) <= rounding) doubtful_ += times;
    if (lead > 0) correct_ += times;
  }
}

Expected Truth::score(int image, int c) const {
  const std::size_t i = static_cast<std::size_t>(image % copy_);
  const std::size_t k = static_cast<std::size_t>(c);
  return {scores_[i * kClasses + k], kSumUlps * kUlp * class_norms_[k] * norms_[i]};
}

Expected Truth::residual(int image, int c) const {
  Expected result = score(image, c);
  if (c == labels_[static_cast<std::size_t>(image % copy_)]) result.value -= 1;
  result.tolerance += kUlp * std::fabs(result.value);
  return result;
}

std::vector<float> Truth::residuals_of_copy() const {
  std::vector<float> residuals;
  residuals.reserve(scores_.size());
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    for (std::size_t c = 0; c < kClasses; ++c)
      residuals.push_back(static_cast<float>(scores_[i * kClasses + c] - (c == labels_[i] ? 1 : 0)));
  }
  return residuals;
}

Expected Truth::squared_residual() const { return {squared_residual_, kLossTolerance * squared_residual_}; }

std::vector<float> Truth::padded_products() const { return padded(mean_products_); }
std::vector<float> Truth::padded_class_sums() const { return padded(mean_class_sums_); }

// 2(WG − C), and for each class ⟨w, wG − 2c⟩ + its share of the images: its squared residuals over n.
std::vector<double> Truth::gradient_of(const std::vector<double>& weights,
                                       std::vector<double>& squares) const {
  std::vector<double> gradient(kWeights);
  squares.assign(kClasses, 0);
  for (std::size_t c = 0; c < kClasses; ++c) {
    double* sums = gradient.data() + kRow * c;
    const double* w = weights.data() + kRow * c;
    for (std::size_t a = 0; a < kRow; ++a) {
      const double* row = mean_products_.data() + kRow * a;
      for (std::size_t b = 0; b < kRow; ++b) sums[b] += w[a] * row[b];
    }
    squares[c] = mean_class_sums_[kRow * c + kPixels];
    for (std::size_t b = 0; b < kRow; ++b) {
      const double target = mean_class_sums_[kRow * c + b];
      squares[c] += w[b] * (sums[b] - 2 * target);
      sums[b] = 2 * (sums[b] - target);
    }
    squares[c] = std::max(squares[c], 0.0);
  }
  return gradient;
}

std::vector<Expected> Truth::gradient(bool of_given_residual) const {
  const std::vector<double> weights = doubles(weights_);
  std::vector<double> squares;
  const std::vector<double> values = gradient_of(weights, squares);
  std::vector<Expected> result(kWeights);
  for (std::size_t c = 0; c < kClasses; ++c) {
    const double inherited =
        of_given_residual ? 0 : kInheritedUlps * norm(weights.data() + kRow * c, kRow) * std::sqrt(trace_);
    const double of_residual = kSumUlps * std::sqrt(squares[c]) + inherited;
    for (std::size_t a = 0; a < kRow; ++a) {
      const double of_pixel = std::sqrt(mean_products_[kRow * a + a]);
      result[kRow * c + a] = {values[kRow * c + a], 2 * kUlp * of_residual * of_pixel};
    }
  }
  return result;
}

float Truth::safe_rate() const { return static_cast<float>(0.2 / trace_); }

Expected Truth::squared_residual(const std::vector<double>& weights,
                                 const std::vector<double>& squares) const {
  double sum = 0;
  for (double square : squares) sum += square;
  const double rounding = kInheritedUlps * kUlp * norm(weights.data(), kWeights) * std::sqrt(trace_);
  // Of residuals that are rounded, and of ⟨W, WG⟩ − 2⟨W, C⟩ + 1, which cancels.
  const double of_residuals = rounding * (2 * std::sqrt(sum) + rounding);
  const double of_terms = kSumUlps * kUlp * (1 + norm(weights.data(), kWeights) * std::sqrt(trace_));
  return {count_ * sum, count_ * (kLossTolerance * sum + std::max(of_residuals, of_terms))};
}

double Truth::largest_stable_rate() const {
  constexpr int kSteps = 100;
  std::vector<double> v(kRow, 1.0), next(kRow);
  double length = 1;
  for (int step = 0; step < kSteps; ++step) {
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t a = 0; a < kRow; ++a) {
      for (std::size_t b = 0; b < kRow; ++b) next[b] += v[a] * mean_products_[kRow * a + b];
    }
    length = norm(next.data(), kRow);
    for (std::size_t a = 0; a < kRow; ++a) v[a] = next[a] / length;
  }
  return 1 / length;
}

Descent Truth::descend(float rate, int iterations) const {
  Descent descent;
  descent.weights = doubles(initial_);
  descent.tolerance.assign(kWeights, 0);
  std::vector<double> squares;
  for (int k = 0; k < iterations; ++k) {
    const std::vector<double> gradient = gradient_of(descent.weights, squares);
    descent.squared_residuals.push_back(squared_residual(descent.weights, squares));
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double of_class = kSumUlps * std::sqrt(squares[c]) +
                              kSumUlps * norm(descent.weights.data() + kRow * c, kRow) * std::sqrt(trace_);
      for (std::size_t a = 0; a < kRow; ++a) {
        const std::size_t i = kRow * c + a;
        const double change = static_cast<double>(rate) * gradient[i];
        descent.weights[i] -= change;
        descent.tolerance[i] += 2 * kUlp *
                                (rate * of_class * std::sqrt(mean_products_[kRow * a + a]) +
                                 std::fabs(descent.weights[i]) + std::fabs(change));
      }
    }
  }
  (void)gradient_of(descent.weights, squares);
  descent.final_squared_residual = squared_residual(descent.weights, squares);
  return descent;
}

}  // namespace mnistd::gpu::bench
