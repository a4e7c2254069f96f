#include "server/commands/selftest_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace mnistd::commands {
namespace {

constexpr std::size_t kClasses = gpu::kClasses;

// Relative. Over many images rounding cancels, and the worst that it could do says little.
constexpr double kLossTolerance = 1e-5;

double rounding_of_sum(std::size_t terms) {
  return std::ldexp(8.0 + static_cast<double>(std::min<std::size_t>(terms, 4096)) / 8.0, -24);
}

std::vector<float> magnitudes(const std::vector<float>& values) {
  std::vector<float> result;
  result.reserve(values.size());
  for (float value : values) result.push_back(std::fabs(value));
  return result;
}

std::vector<double> scaled(const std::vector<float>& values, double factor) {
  std::vector<double> result;
  result.reserve(values.size());
  for (float value : values) result.push_back(factor * value);
  return result;
}

std::vector<float> random_floats(std::mt19937& random, std::size_t count, double scale) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(scale * (random() / 2147483648.0 - 1.0));
  return values;
}

// Images of a case on the reference device.
class Reference {
 public:
  Reference(gpu::Device& device, const SelftestCase& inputs)
      : device_(device),
        pixels_(device, inputs.pixels),
        labels_(device, inputs.labels),
        images_(inputs.images) {}

  std::vector<float> scores(const std::vector<float>& weights) {
    gpu::Buffer<float> matrix(device_, weights), result(device_, kClasses * labels_.size());
    device_.ops().scores(pixels_.data(), images_, matrix.data(), result.data());
    return result.to_vector();
  }
  std::vector<float> residual(const std::vector<float>& weights, gpu::PassStatistics& statistics) {
    gpu::Buffer<float> matrix(device_, weights), result(device_, kClasses * labels_.size());
    gpu::Buffer<gpu::PassStatistics> sums(device_, 1);
    device_.ops().residual(view(), matrix.data(), result.data(), sums.data());
    statistics = sums.to_vector().front();
    return result.to_vector();
  }
  std::vector<float> gradient(const std::vector<float>& residual) {
    gpu::Buffer<float> matrix(device_, residual), result(device_, gpu::kWeights);
    device_.ops().gradient(view(), matrix.data(), result.data());
    return result.to_vector();
  }

 private:
  gpu::LabelledImages view() const { return {pixels_.data(), labels_.data(), images_}; }

  gpu::Device& device_;
  gpu::Buffer<std::uint8_t> pixels_, labels_;
  int images_;
};

// How many images have another class so close to their label's that rounding decides.
std::uint32_t doubtful_images(const SelftestCase& made) {
  std::uint32_t doubtful = 0;
  for (std::size_t i = 0; i < made.labels.size(); ++i) {
    const std::size_t own = i * kClasses + made.labels[i];
    double lead = std::numeric_limits<double>::infinity();
    double rounding = 0;
    for (std::size_t k = i * kClasses; k < (i + 1) * kClasses; ++k) {
      if (k != own) lead = std::min(lead, static_cast<double>(made.scores.value[own]) - made.scores.value[k]);
      rounding = std::max(rounding, 2 * made.scores.tolerance[k]);
    }
    if (std::fabs(lead) <= rounding) ++doubtful;
  }
  return doubtful;
}

void expect_residual(Reference& reference, SelftestCase& made) {
  made.scores.value = reference.scores(made.weights);
  // The same sums with every term positive: the pixels are, the weights are made so.
  made.scores.tolerance = scaled(reference.scores(magnitudes(made.weights)), rounding_of_sum(gpu::kFeatures));

  gpu::PassStatistics sums;
  made.residual.value = reference.residual(made.weights, sums);
  made.residual.tolerance = made.scores.tolerance;
  for (std::size_t i = 0; i < made.labels.size(); ++i)
    made.residual.tolerance[i * kClasses + made.labels[i]] += rounding_of_sum(1);
  made.statistics.squared_residual = sums.squared_residual;
  made.statistics.correct = sums.correct;
  for (std::size_t k = 0; k < made.residual.value.size(); ++k) {
    const double error = made.residual.tolerance[k];
    made.statistics.tolerance += 2 * std::fabs(made.residual.value[k]) * error + error * error;
  }
  made.statistics.tolerance = std::min(made.statistics.tolerance, kLossTolerance * sums.squared_residual);
  made.statistics.doubtful = doubtful_images(made);
}

void expect_gradients(Reference& reference, SelftestCase& made) {
  const double rounding = rounding_of_sum(made.labels.size());
  made.gradient.value = reference.gradient(made.given_residual);
  made.gradient.tolerance = scaled(reference.gradient(magnitudes(made.given_residual)), rounding);

  made.fused_gradient.value = reference.gradient(made.residual.value);
  made.fused_gradient.tolerance = scaled(reference.gradient(magnitudes(made.residual.value)), rounding);
  // What the residual may already be off by is added up in the same way.
  const std::vector<float> inherited =
      reference.gradient(std::vector<float>(made.residual.tolerance.begin(), made.residual.tolerance.end()));
  for (std::size_t i = 0; i < inherited.size(); ++i) made.fused_gradient.tolerance[i] += inherited[i];
}

void expect_weights(gpu::Device& device, SelftestCase& made) {
  gpu::Buffer<float> weights(device, gpu::kWeights);
  device.ops().initialise(weights.data(), SelftestCase::kSeed);
  made.initial.value = weights.to_vector();
  made.initial.tolerance.assign(gpu::kWeights, 0.0);  // one rounding is prescribed

  weights.upload(made.weights);
  const gpu::Buffer<float> gradient(device, made.fused_gradient.value);
  device.ops().step(weights.data(), gradient.data(), SelftestCase::kRate);
  made.stepped.value = weights.to_vector();
  for (std::size_t i = 0; i < made.weights.size(); ++i) {
    const double change = std::fabs(static_cast<double>(SelftestCase::kRate) * made.fused_gradient.value[i]);
    made.stepped.tolerance.push_back(std::ldexp(std::fabs(made.weights[i]) + change, -23));
  }
}

// Of more images the exact sums are left to vector units.
constexpr int kMostPlainlySummed = 4096;

void expect_gram(gpu::Device& device, SelftestCase& made) {
  const gpu::Buffer<std::uint8_t> pixels(device, made.pixels), labels(device, made.labels);
  gpu::Buffer<std::uint64_t> products(device, std::size_t{gpu::kFeatures} * gpu::kFeatures);
  gpu::Buffer<std::uint64_t> class_sums(device, gpu::kWeights);
  device.ops().gram({pixels.data(), labels.data(), made.images}, products.data(), class_sums.data());
  made.products = products.to_vector();
  made.class_sums = class_sums.to_vector();

  const auto over_images = [&](std::uint64_t sum, double scale) {
    return static_cast<float>(static_cast<double>(sum) * scale / made.images);
  };
  const auto scale_of = [](std::size_t feature) { return feature < gpu::kPixels ? 1 / 255.0 : 1.0; };
  made.system_products.resize(std::size_t{gpu::kFeatures} * gpu::kGramStride);
  made.system_class_sums.resize(kClasses * gpu::kGramStride);
  for (std::size_t b = 0; b < gpu::kFeatures; ++b) {
    for (std::size_t a = 0; a < gpu::kFeatures; ++a) {
      made.system_products[a * gpu::kGramStride + b] =
          over_images(made.products[a * gpu::kFeatures + b], scale_of(a) * scale_of(b));
    }
    for (std::size_t c = 0; c < kClasses; ++c) {
      made.system_class_sums[c * gpu::kGramStride + b] =
          over_images(made.class_sums[c * gpu::kFeatures + b], scale_of(b));
    }
  }
}

// W G in double, and what rounding in float can make of an entry whose factors are off by `tolerance`.
struct Product {
  std::vector<double> value, error;
};

Product times_products(const SelftestCase& made, const ExpectedExactly& weights) {
  const double rounding = rounding_of_sum(gpu::kFeatures);
  Product product{std::vector<double>(gpu::kWeights), std::vector<double>(gpu::kWeights)};
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t a = 0; a < gpu::kFeatures; ++a) {
      const double weight = weights.value[c * gpu::kFeatures + a];
      const double spread = rounding * std::fabs(weight) + weights.tolerance[c * gpu::kFeatures + a];
      for (std::size_t b = 0; b < gpu::kFeatures; ++b) {
        const double entry = made.system_products[a * gpu::kGramStride + b];  // none is negative
        product.value[c * gpu::kFeatures + b] += weight * entry;
        product.error[c * gpu::kFeatures + b] += spread * entry;
      }
    }
  }
  return product;
}

// The formulas of Ops::gram_descend, in double, each error followed through the iterations at its worst.
void expect_descent(SelftestCase& made) {
  made.descended.value.assign(made.weights.begin(), made.weights.end());
  made.descended.tolerance.assign(made.weights.size(), 0.0);
  for (int k = 0; k < SelftestCase::kGramIterations; ++k) {
    const Product product = times_products(made, made.descended);
    double loss = 1;
    double loss_error = 0;
    for (std::size_t i = 0; i < made.weights.size(); ++i) {
      double& weight = made.descended.value[i];
      double& tolerance = made.descended.tolerance[i];
      const double target =
          made.system_class_sums[i / gpu::kFeatures * gpu::kGramStride + i % gpu::kFeatures];
      const double part = product.value[i] - 2 * target;
      const double error = product.error[i] + rounding_of_sum(1) * std::fabs(target);
      loss += weight * part;
      loss_error += std::fabs(weight) * error + tolerance * (std::fabs(part) + error);
      weight -= 2.0 * SelftestCase::kGramRate * (product.value[i] - target);
      tolerance += 2.0 * SelftestCase::kGramRate * error + std::ldexp(std::fabs(weight), -23);
    }
    made.descent_squared.value.push_back(made.images * loss);
    made.descent_squared.tolerance.push_back(made.images * loss_error);
  }
}

}  // namespace

SelftestCase random_inputs(int images) {
  std::mt19937 random(static_cast<std::uint32_t>(images));
  const std::size_t count = static_cast<std::size_t>(images);
  SelftestCase inputs;
  inputs.images = images;
  inputs.pixels.resize(count * gpu::kPixels);
  for (std::uint8_t& pixel : inputs.pixels) pixel = static_cast<std::uint8_t>(random() >> 24);
  inputs.labels.resize(count);
  for (std::uint8_t& label : inputs.labels) label = static_cast<std::uint8_t>(random() % kClasses);
  inputs.weights = random_floats(random, gpu::kWeights, 0.05);
  inputs.given_residual = random_floats(random, count * kClasses, 1.5);
  return inputs;
}

SelftestCase make_case(gpu::Device& device, gpu::Device& quick_device, int images) {
  SelftestCase made = random_inputs(images);
  Reference reference(device, made);
  expect_residual(reference, made);
  expect_gradients(reference, made);
  expect_weights(device, made);
  expect_gram(images <= kMostPlainlySummed ? device : quick_device, made);
  expect_descent(made);
  return made;
}

}  // namespace mnistd::commands
