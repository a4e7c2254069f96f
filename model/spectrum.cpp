#include "model/spectrum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "model/eigenvectors.h"
#include "model/linear.h"
#include "model/sealed.h"

namespace mnistd::model {
namespace {

using gpu::kFeatures;
using gpu::kWeights;

constexpr std::size_t kSquare = std::size_t{kFeatures} * kFeatures;

Seal seal_of(std::string_view dataset_digest) { return {"mnd.spec", 1, dataset_digest}; }

// rows (10×785) times each eigenvector: 10×785.
std::vector<double> projected(const std::vector<double>& rows, const std::vector<double>& eigenvectors) {
  // The ten of a feature side by side: ten sums at once.
  std::vector<double> by_feature(kWeights);
  for (int c = 0; c < kClasses; ++c)
    for (int a = 0; a < kFeatures; ++a) by_feature[kClasses * a + c] = rows[kFeatures * c + a];
  std::vector<double> result(kWeights);
  for (int j = 0; j < kFeatures; ++j) {
    const double* const v = eigenvectors.data() + std::size_t{kFeatures} * j;
    double sums[kClasses] = {};
    for (int a = 0; a < kFeatures; ++a)
      for (int c = 0; c < kClasses; ++c) sums[c] += v[a] * by_feature[kClasses * a + c];
    for (int c = 0; c < kClasses; ++c) result[kFeatures * c + j] = sums[c];
  }
  return result;
}

// (1 − qᵐ)/λ with q = 1 − 2·rate·λ.
double reach(double eigenvalue, double rate, double updates) {
  if (updates == 0) return 0;
  const double x = 2 * rate * eigenvalue;
  // So small that its square is nothing beside it: the limit for λ → 0, also where λ itself is 0.
  if (x < 1e-300) return 2 * rate * updates;
  if (x < 1) return -std::expm1(updates * std::log1p(-x)) / eigenvalue;
  if (x == 1) return 1 / eigenvalue;
  const double power = updates * std::log(x - 1);  // of |q|; q is negative and its powers alternate
  if (std::fmod(updates, 2) == 0) return -std::expm1(power) / eigenvalue;
  return (1 + std::exp(power)) / eigenvalue;
}

bool is_consistent(const Spectrum& spectrum) {
  const auto& values = spectrum.eigenvalues;
  const auto finite = [](const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
  };
  return finite(values) && finite(spectrum.eigenvectors) && finite(spectrum.class_sums) &&
         std::ranges::is_sorted(values) && values.front() >= 0 && values.back() > 0;
}

}  // namespace

Spectrum compute_spectrum(const Gram& gram) {
  Eigenpairs pairs = eigenpairs(normal_products(gram), kFeatures);
  Spectrum spectrum;
  spectrum.images = gram.images;
  spectrum.eigenvalues = std::move(pairs.values);
  // None is negative but by rounding.
  for (double& value : spectrum.eigenvalues) value = std::max(value, 0.0);
  spectrum.eigenvectors = std::move(pairs.vectors);
  spectrum.class_sums = projected(normal_class_sums(gram), spectrum.eigenvectors);
  return spectrum;
}

std::string to_bytes(const Spectrum& spectrum, std::string_view dataset_digest) {
  const std::uint64_t images = static_cast<std::uint64_t>(spectrum.images);
  return sealed(
      seal_of(dataset_digest),
      {std::as_bytes(std::span(&images, 1)), std::as_bytes(std::span(spectrum.eigenvalues)),
       std::as_bytes(std::span(spectrum.eigenvectors)), std::as_bytes(std::span(spectrum.class_sums))});
}

Spectrum spectrum_from_bytes(std::string_view bytes, std::string_view dataset_digest) {
  std::string_view payload = unsealed(bytes, seal_of(dataset_digest));
  if (payload.size() != sizeof(std::uint64_t) + (kFeatures + kSquare + kWeights) * sizeof(double))
    throw SealError("holds another number of values");
  const auto take = [&payload](auto* to, std::size_t count) {
    std::memcpy(to, payload.data(), count * sizeof *to);
    payload.remove_prefix(count * sizeof *to);
  };
  std::uint64_t images = 0;
  take(&images, 1);
  if (images < 1 || images > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw SealError("is of " + std::to_string(images) + " images");
  Spectrum spectrum{static_cast<int>(images), std::vector<double>(kFeatures), std::vector<double>(kSquare),
                    std::vector<double>(kWeights)};
  take(spectrum.eigenvalues.data(), kFeatures);
  take(spectrum.eigenvectors.data(), kSquare);
  take(spectrum.class_sums.data(), kWeights);
  if (!is_consistent(spectrum)) throw SealError("holds values that no spectrum has");
  return spectrum;
}

ClosedForm::ClosedForm(const Spectrum& spectrum, std::uint32_t seed, double rate)
    : spectrum_(spectrum), rate_(rate), residuals_(kFeatures) {
  const std::vector<float> weights = initial_weights(seed);
  start_ = projected({weights.begin(), weights.end()}, spectrum.eigenvectors);
  first_loss_ = 1;
  for (int c = 0; c < kClasses; ++c)
    for (int j = 0; j < kFeatures; ++j) {
      const int i = kFeatures * c + j;
      const double lambda = spectrum.eigenvalues[j], target = spectrum.class_sums[i];
      const double residual = target - lambda * start_[i];
      residuals_[j] += residual * residual;
      first_loss_ += (lambda * start_[i] - 2 * target) * start_[i];
    }
}

double ClosedForm::loss(int updates) const { return losses(updates, 1, 1).front(); }

std::vector<double> ClosedForm::losses(int first, int step, int count) const {
  std::vector<double> less(static_cast<std::size_t>(count));
  for (int j = 0; j < kFeatures; ++j) {
    if (residuals_[j] == 0) continue;  // also where its factor is beyond all numbers
    const double lambda = spectrum_.eigenvalues[j];
    double now = reach(lambda, rate_, 2.0 * first);
    const double one_step = reach(lambda, rate_, 2.0 * step);
    const double shrink = 1 - lambda * one_step;  // q²ˢ
    for (double& sum : less) {
      sum += residuals_[j] * now;
      now = one_step + now * shrink;
    }
  }
  for (double& loss : less) {
    loss = first_loss_ - loss;
    loss = std::isnan(loss) ? std::numeric_limits<double>::infinity() : std::max(loss, 0.0);
  }
  return less;
}

std::vector<double> ClosedForm::weights(int updates) const {
  std::vector<double> weights(kWeights);
  for (int j = 0; j < kFeatures; ++j) {
    const double lambda = spectrum_.eigenvalues[j];
    const double gain = reach(lambda, rate_, updates);
    const double* const v = spectrum_.eigenvectors.data() + std::size_t{kFeatures} * j;
    for (int c = 0; c < kClasses; ++c) {
      const int i = kFeatures * c + j;
      const double along = start_[i] + gain * (spectrum_.class_sums[i] - lambda * start_[i]);
      for (int a = 0; a < kFeatures; ++a) weights[kFeatures * c + a] += along * v[a];
    }
  }
  return weights;
}

}  // namespace mnistd::model
