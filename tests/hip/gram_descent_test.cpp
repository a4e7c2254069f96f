// Descents by the normal equations, by every variant of the step, against the same descent in float64; and that how they are cut
// into calls and launches does not show.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/hip/check.h"
#include "gpu/kernels/variants.h"
#include "tests/hip/device_under_test.h"
#include "tests/hip/runner.h"

namespace mnistd::gpu {
namespace {

constexpr std::size_t kMatrix = std::size_t{kFeatures} * kGramStride;
constexpr std::size_t kRows = std::size_t{kClasses} * kGramStride;

// G, C and n of some images, as GramSystem has them, and a rate that is safely below the limit.
struct System {
  std::vector<float> products = std::vector<float>(kMatrix);
  std::vector<float> class_sums = std::vector<float>(kRows);
  int images = 0;
  float rate = 0;
};

System system_of(const Images& images) {
  System system;
  system.images = static_cast<int>(images.labels.size());
  std::vector<double> products(kMatrix), class_sums(kRows);
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    std::vector<double> x;
    for (std::size_t p = 0; p < kPixels; ++p) x.push_back(images.pixels[i * kPixels + p] / 255.0);
    x.push_back(1);
    for (std::size_t a = 0; a < kFeatures; ++a) {
      for (std::size_t b = 0; b < kFeatures; ++b)
        products[a * kGramStride + b] += x[a] * x[b] / system.images;
      class_sums[images.labels[i] * std::size_t{kGramStride} + a] += x[a] / system.images;
    }
  }
  double most = 0;  // the largest sum of a row's magnitudes is no less than the largest eigenvalue
  for (std::size_t a = 0; a < kFeatures; ++a) {
    double sum = 0;
    for (std::size_t b = 0; b < kFeatures; ++b) sum += products[a * kGramStride + b];
    most = std::max(most, sum);
  }
  std::transform(products.begin(), products.end(), system.products.begin(),
                 [](double v) { return static_cast<float>(v); });
  std::transform(class_sums.begin(), class_sums.end(), system.class_sums.begin(),
                 [](double v) { return static_cast<float>(v); });
  system.rate = static_cast<float>(0.9 / most);
  return system;
}

struct Descent {
  std::vector<float> weights;
  std::vector<double> squared;  // of each iteration

  bool operator==(const Descent&) const = default;
};

// What float64 makes of it, and how far float32 may be off. The error of W is that of each step, in the norm in which a step
// below the limit enlarges none that was there before.
struct Exact {
  std::vector<double> weights = std::vector<double>(kWeights);
  std::vector<double> squared;
  std::vector<double> squared_tolerance;
  double weights_tolerance = 0;  // of ‖W − exact‖
};

Exact descend_exactly(const System& system, const std::vector<float>& start, int count) {
  constexpr double kRounding = (8.0 + kFeatures / 8.0) / 16777216.0;
  Exact exact;
  std::copy(start.begin(), start.end(), exact.weights.begin());
  const double rate = system.rate;
  for (int k = 0; k < count; ++k) {
    double loss = 1, loss_error = 0, step_error = 0, slope = 0;
    std::vector<double> next(kWeights);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double* w = exact.weights.data() + c * kFeatures;
      std::vector<double> sums(kFeatures), magnitudes(kFeatures);
      for (std::size_t a = 0; a < kFeatures; ++a) {
        const float* row = system.products.data() + a * kGramStride;
        for (std::size_t b = 0; b < kFeatures; ++b) {
          sums[b] += w[a] * row[b];
          magnitudes[b] += std::fabs(w[a] * row[b]);
        }
      }
      for (std::size_t b = 0; b < kFeatures; ++b) {
        const double target = system.class_sums[c * kGramStride + b];
        const double change = sums[b] - target;
        const double error = kRounding * (magnitudes[b] + std::fabs(target));
        loss += w[b] * (sums[b] - 2 * target);
        loss_error += std::fabs(w[b]) * error;
        slope += change * change;
        next[c * kFeatures + b] = w[b] - 2 * rate * change;
        step_error += std::pow(2 * rate * error + std::ldexp(std::fabs(next[c * kFeatures + b]), -24), 2);
      }
    }
    exact.squared.push_back(loss * system.images);
    exact.squared_tolerance.push_back(system.images *
                                      (loss_error + 2 * std::sqrt(slope) * exact.weights_tolerance));
    exact.weights_tolerance += std::sqrt(step_error);
    exact.weights = next;
  }
  return exact;
}

// G, C and W on the device.
class Resident {
 public:
  Resident(Device& device, const System& system)
      : device_(device),
        system_(system),
        products_(device, system.products),
        class_sums_(device, system.class_sums) {}

  // One call for each of `counts`.
  Descent descend(const std::vector<float>& start, const std::vector<int>& counts) {
    constexpr float kSentinel = -8906.25f;
    GuardedBuffer<float> weights(device_, kWeights, 0, kSentinel);
    device_.upload(weights.data(), start.data(), kWeights * sizeof(float));
    Descent found;
    for (int count : counts) {
      GuardedBuffer<PassStatistics> statistics(device_, static_cast<std::size_t>(count),
                                               PassStatistics{std::nan(""), 0xdeadbeef, 0},
                                               PassStatistics{-8906.25, 77, 0});
      device_.ops().gram_descend({products_.data(), class_sums_.data(), system_.images}, weights.data(),
                                 system_.rate, count, statistics.data());
      for (const PassStatistics& one : statistics.values()) {
        CHECK(one.correct == 0);
        found.squared.push_back(one.squared_residual);
      }
    }
    found.weights = weights.values();
    return found;
  }

 private:
  Device& device_;
  const System& system_;
  Buffer<float> products_;
  Buffer<float> class_sums_;
};

const System& some_system() {
  static const System system = system_of(random_images(150, 21));
  return system;
}
const std::vector<float>& some_weights() {
  static const std::vector<float> weights = random_floats(kWeights, 0.05f, 22);
  return weights;
}

std::vector<std::string> step_kernels() {
  std::vector<std::string> names;
  const auto device = open_under_test();
  for (const std::string& name : device->info().kernels) {
    if (name.starts_with("gram_step=")) names.push_back(name);
  }
  REQUIRE(names.size() >= 2);
  return names;
}

// As many iterations as an emulator does in seconds, but more than a graph of 32 where graphs are.
int iterations_for(const std::string& kernel) { return kernel == "gram_step=2-one-launch" ? 35 : 5; }

}  // namespace

TEST_CASE("every variant of the gram step descends as float64 does") {
  for (const std::string& kernel : step_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    const int count = iterations_for(kernel);
    const Exact exact = descend_exactly(some_system(), some_weights(), count);
    const Descent found = Resident(*device, some_system()).descend(some_weights(), {count});
    double error = 0;
    for (std::size_t i = 0; i < kWeights; ++i) error += std::pow(found.weights[i] - exact.weights[i], 2);
    CHECK_FALSE(!(std::sqrt(error) <= exact.weights_tolerance));
    CHECK(exact.weights_tolerance < 1e-3);  // else nothing is said
    REQUIRE(found.squared.size() == exact.squared.size());
    for (std::size_t k = 0; k < exact.squared.size(); ++k) {
      CAPTURE(k);
      CHECK_FALSE(!(std::fabs(found.squared[k] - exact.squared[k]) <= exact.squared_tolerance[k]));
      CHECK(exact.squared_tolerance[k] < 1e-2 * exact.squared[k]);
      if (k > 0) CHECK(found.squared[k] < found.squared[k - 1]);
    }
  }
}

TEST_CASE("calls may be cut as one likes, bit for bit") {
  for (const std::string& kernel : step_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Resident resident(*device, some_system());
    const int count = iterations_for(kernel);
    const Descent whole = resident.descend(some_weights(), {count});
    CHECK(resident.descend(some_weights(), {1, 2, count - 3}) == whole);
    CHECK(resident.descend(some_weights(), {count / 2, count - count / 2}) == whole);
  }
}

TEST_CASE("another system and rate between, and the first again") {
  System other = system_of(random_images(40, 5));
  System slower = some_system();
  slower.rate *= 0.5f;
  for (const std::string& kernel : step_kernels()) {
    CAPTURE(kernel);
    const int count = iterations_for(kernel) > 32 ? 32 : 3;  // one graph, or none
    const auto device = open_under_test(kernel);
    Resident resident(*device, some_system()), between(*device, other), slow(*device, slower);
    const Descent first = resident.descend(some_weights(), {count});
    const Descent of_other = between.descend(some_weights(), {count});
    const Descent of_slower = slow.descend(some_weights(), {count});
    CHECK_FALSE(of_other.weights == first.weights);
    CHECK_FALSE(of_slower.weights == first.weights);
    CHECK(resident.descend(some_weights(), {count}) == first);  // the graph is recorded anew
  }
}

TEST_CASE(
    "a cooperative launch gives the same with any number of blocks, either cut of the classes, and any first "
    "number") {
  const auto device = open_under_test();
  const std::vector<std::string>& kernels = device->info().kernels;
  if (std::find(kernels.begin(), kernels.end(), "gram_step=3-cooperative") == kernels.end()) return;
  Buffer<float> products(*device, some_system().products), class_sums(*device, some_system().class_sums);
  Buffer<float> weights(*device, some_weights()), result(*device, kWeights);
  Buffer<std::uint64_t> exchange(*device, 2 * kernels::kGramMatrix);
  Buffer<double> shares(*device, std::size_t{kernels::kGramShares} * kernels::kGramIterations);
  Buffer<PassStatistics> statistics(*device, kernels::kGramIterations);
  const auto run = [&](std::uint32_t first_tag, int count, const kernels::GramCooperation& cooperation) {
    device->fill_zero(exchange.data(), 2 * kernels::kGramMatrix * sizeof(std::uint64_t));
    device->synchronize();
    const GramSystem system = {products.data(), class_sums.data(), some_system().images};
    const int share_count =
        kernels::gram_step_3_cooperative(nullptr, system, weights.data(), some_system().rate, count,
                                         first_tag, exchange.data(), shares.data(), cooperation);
    const std::uint32_t last_tag = first_tag + static_cast<std::uint32_t>(count);
    kernels::gram_finish(nullptr, nullptr, exchange.data() + (last_tag & 1) * kernels::kGramMatrix,
                         result.data(), system.images, shares.data(), share_count, count, statistics.data());
    MNISTD_HIP_CHECK(hipStreamSynchronize(nullptr));
    Descent found;
    found.weights = result.to_vector();
    const std::vector<PassStatistics> all = statistics.to_vector();
    for (int k = 0; k < count; ++k)
      found.squared.push_back(all[static_cast<std::size_t>(k)].squared_residual);
    return found;
  };
  const kernels::GramCooperation usual = kernels::gram_cooperation();
  constexpr int kCount = 5;
  const Descent right = run(0, kCount, usual);
  const Exact exact = descend_exactly(some_system(), some_weights(), kCount);
  double error = 0;
  for (std::size_t i = 0; i < kWeights; ++i) error += std::pow(right.weights[i] - exact.weights[i], 2);
  CHECK_FALSE(!(std::sqrt(error) <= exact.weights_tolerance));

  CHECK(run(7, kCount, usual) == right);
  CHECK(run(0xfffffffdu, kCount, usual) == right);  // numbers that go round
  for (const bool wide : {false, true}) {
    CAPTURE(wide);
    for (int blocks = 1; blocks <= std::min(usual.blocks, 50); blocks += 16) {
      CAPTURE(blocks);
      const Descent found = run(0, kCount, {wide, blocks});
      CHECK(found.weights == right.weights);
      // Shares are of other tasks, and so are added in another order.
      for (std::size_t k = 0; k < kCount; ++k) {
        CHECK(std::fabs(found.squared[k] - right.squared[k]) <= 1e-12 * right.squared[k]);
      }
    }
  }
}

TEST_CASE("a descent of nothing is refused") {
  const auto device = open_under_test();
  Buffer<float> products(*device, kMatrix), class_sums(*device, kRows), weights(*device, kWeights);
  Buffer<PassStatistics> statistics(*device, 1);
  CHECK_THROWS_AS(device->ops().gram_descend({products.data(), class_sums.data(), 0}, weights.data(), 0.1f, 1,
                                             statistics.data()),
                  DeviceError);
  CHECK_THROWS_AS(device->ops().gram_descend({products.data(), class_sums.data(), 1}, weights.data(), 0.1f, 0,
                                             statistics.data()),
                  DeviceError);
}

}  // namespace mnistd::gpu
