// The eigenvalues and eigenvectors of XᵀX/n, and what they say of gradient descent without running it.
//
// The loss is a parabola along each eigenvector v of eigenvalue λ, so a descent with rate Δ goes along each by itself: there the
// distance of W from the best is multiplied by q = 1 − 2Δλ in every update. Above Δ = 1/λ of the largest λ that is more than 1
// in size, and the descent diverges: the stability limit. Below it, where the weights w of a class begin at w₀ and C is YX/n,
//
//   w(k) = w₀ + (1 − qᵏ)/λ · (C·v − λ w₀)        L(k) = L(0) − Σ over v, classes of (1 − q²ᵏ)/λ · (C·v − λ w₀)²
//
// Neither has the minimum in it, which is not to be had where λ is 0 or nearly so: there (1 − qᵏ)/λ goes to 2Δk, by expm1 and
// log1p without a digit lost. MNIST has 67 pixels that no image uses, so 67 such λ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/gram.h"

namespace mnistd::model {

// Immutable once made; any thread.
struct Spectrum {
  int images = 0;
  std::vector<double> eigenvalues;   // 785, ascending, none below 0
  std::vector<double> eigenvectors;  // 785×785, row j is the one of eigenvalue j
  std::vector<double> class_sums;    // 10×785, YX/n times each eigenvector
  // The largest learning rate that does not diverge.
  double stability_limit() const { return 1 / eigenvalues.back(); }
  // What "learning_rate":"auto" stands for: q is 0 along the steepest direction, and every other one converges.
  double automatic_rate() const { return 0.5 * stability_limit(); }
};

// Half a second of one thread (Eigen's symmetric eigensolver, in float64).
Spectrum compute_spectrum(const Gram& gram);

// For a file, as the Gram's.
std::string to_bytes(const Spectrum& spectrum, std::string_view dataset_digest);
Spectrum spectrum_from_bytes(std::string_view bytes, std::string_view dataset_digest);
inline constexpr std::size_t kMaximumSpectrumBytes = 6'000'000;  // more is none

// The descent from a seed's weights with a rate ≥ 0, at any iteration. One thread; the spectrum must outlive it.
class ClosedForm {
 public:
  ClosedForm(const Spectrum& spectrum, std::uint32_t seed, double rate);
  // After so many updates, ≥ 0. Infinite where it leaves the finite numbers.
  double loss(int updates) const;
  // After `first`, first + step, first + 2·step … updates, `count` of them; step ≥ 1. A millisecond for a thousand, and within
  // 1e-12 of loss: what is 1 − q²ᵐ grows from one to the next by a multiplication.
  std::vector<double> losses(int first, int step, int count) const;
  std::vector<double> weights(int updates) const;  // 10×785

 private:
  const Spectrum& spectrum_;
  const double rate_;
  std::vector<double> start_;      // 10×785, the seed's weights times each eigenvector
  std::vector<double> residuals_;  // 785, Σ over classes of (C·v − λ w₀)²
  double first_loss_ = 0;
};

}  // namespace mnistd::model
