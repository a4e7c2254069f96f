// What the operations must yield for given images, in float64 and in 64-bit integers, computed on the host without the
// operations under test.
//
// How. G = XᵀX and C = YX are exact integers, and everything else follows from them in double: the gradient of weights W is
// 2(WG − C)/n, and so is each iterate of a descent. G itself would take the host long; it is computed by the CPU device and
// then proven: for random 64-bit vectors v, G v = Xᵀ(X v) modulo 2⁶⁴ (Freivalds). A wrong entry passes that once in 2⁶⁴⁻ᵏ
// tries if 2ᵏ divides its error. Scores are computed for every image of the host. As the device repeats those,
// the truth for millions of images costs no more than for one copy.
//
// Tolerances are what rounding in float32 may make of a sum that is cut into parts of some hundred terms, as all
// implementations do: 64 ulps of the Cauchy-Schwarz bound ‖a‖·‖b‖ of the sum Σ a·b. At 60,000 images that is a quarter of what
// one forgotten image of average ink changes.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/images.h"

namespace mnistd::gpu::bench {

struct Expected {
  double value = 0;
  double tolerance = 0;
};

// Where a descent is after some iterations.
struct Descent {
  std::vector<double> weights;
  std::vector<double> tolerance;            // of each weight
  std::vector<Expected> squared_residuals;  // before each iteration
  Expected final_squared_residual;          // of `weights`
};

class Truth {
 public:
  // Of `count` images on a device (ResidentImages). Throws std::runtime_error if the CPU device gives a wrong G.
  Truth(const HostImages& images, int count);

  int images() const { return count_; }
  const std::vector<float>& weights() const { return weights_; }  // random: what the operations are given
  const std::vector<float>& initial_weights() const { return initial_; }  // Ops::initialise(kSeed)
  static constexpr std::uint32_t kSeed = 1234567;

  // Σ x[a]·x[b] and Σ x[a] over a class's images, as Ops::gram.
  const std::vector<std::uint64_t>& products() const { return products_; }
  const std::vector<std::uint64_t>& class_sums() const { return class_sums_; }
  // GramSystem's arrays.
  std::vector<float> padded_products() const;
  std::vector<float> padded_class_sums() const;

  // Of `weights()`. The residuals as floats are what Ops::gradient is given.
  Expected score(int image, int c) const;
  Expected residual(int image, int c) const;
  std::vector<float> residuals_of_copy() const;  // of the host's images
  Expected squared_residual() const;
  std::uint32_t correct() const { return correct_; }
  std::uint32_t doubtful() const { return doubtful_; }  // images that rounding may count or not
  std::vector<Expected> gradient(bool of_given_residual) const;

  // Below every limit of stability: a fifth of 1/trace(G/n).
  float safe_rate() const;
  // 1/λmax of G/n, from above, by power iteration: rates well below it are stable.
  double largest_stable_rate() const;
  Descent descend(float rate, int iterations) const;

 private:
  Expected squared_residual(const std::vector<double>& weights, const std::vector<double>& squares) const;
  void score_images(const HostImages& images);
  std::vector<double> gradient_of(const std::vector<double>& weights, std::vector<double>& squares) const;

  int count_;
  int copy_;  // images of the host
  std::vector<float> weights_, initial_;
  std::vector<std::uint64_t> products_, class_sums_;
  std::vector<double> mean_products_, mean_class_sums_;  // over n, pixels in 0..1
  double trace_ = 0;
  std::vector<std::uint8_t> labels_;  // of the host's images, as the following
  std::vector<double> scores_, norms_;
  std::vector<double> class_norms_;  // of weights_
  double squared_residual_ = 0;
  std::uint32_t correct_ = 0, doubtful_ = 0;
};

}  // namespace mnistd::gpu::bench
