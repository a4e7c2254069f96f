#include "gpu/bench/workbench.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace mnistd::gpu::bench {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

}  // namespace

Workbench::Workbench(Device& on, const LabelledImages& view, const Truth& expected)
    : device(on),
      images(view),
      truth(expected),
      rate(expected.safe_rate()),
      weights(on, expected.weights()),
      given_gradient(on, expected.weights()),  // any values will do
      products(on, expected.padded_products()),
      class_sums(on, expected.padded_class_sums()),
      by_weight(on, kWeights, kPoison),
      statistics(on, kMostIterations, kPoisonStatistics),
      correct(on, 1, 0xdeadbeef) {
  if (view.count != expected.images())
    throw std::invalid_argument("the truth is of another number of images");
}

Output<float>& Workbench::by_image() {
  if (by_image_.empty())
    by_image_.emplace_back(device, static_cast<std::size_t>(images.count) * kClasses, kPoison);
  return by_image_.front();
}

const Buffer<float>& Workbench::residual() {
  if (residual_.empty()) {
    const std::vector<float> copy = truth.residuals_of_copy();
    const std::size_t count = static_cast<std::size_t>(images.count) * kClasses;
    residual_.emplace_back(device, count);
    for (std::size_t first = 0; first < count; first += copy.size()) {
      const std::size_t size = std::min(copy.size(), count - first);
      device.upload(residual_.front().data() + first, copy.data(), size * sizeof(float));
    }
  }
  return residual_.front();
}

Output<std::uint64_t>& Workbench::exact_products() {
  if (exact_.empty()) {
    exact_.reserve(2);
    exact_.emplace_back(device, std::size_t{kFeatures} * kFeatures, std::uint64_t{0xfeedc0dedeadbeef});
    exact_.emplace_back(device, std::size_t{kWeights}, std::uint64_t{0xfeedc0dedeadbeef});
  }
  return exact_.front();
}

Output<std::uint64_t>& Workbench::exact_class_sums() {
  (void)exact_products();
  return exact_.back();
}

}  // namespace mnistd::gpu::bench
