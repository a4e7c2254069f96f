// Every operation, and every variant of a kernel, against float64 at sizes around tiles, blocks and chunks.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/kernels/variants.h"
#include "tests/gpu/formulas.h"
#include "tests/hip/device_under_test.h"
#include "tests/hip/runner.h"

namespace mnistd::gpu {
namespace {

constexpr int kTile = kernels::kLeastImagesABlock;
constexpr int kBlock = 256;
constexpr int kChunk = kernels::kChunkImages;
constexpr int kCounts[] = {1,          2,          kTile - 1, kTile,      kTile + 1,
                           kBlock - 1, kBlock + 1, kChunk,    kChunk + 1, kChunk + kTile + 37};

// One message for a whole matrix: the first entry that misses its tolerance.
void check_close(const char* what, const std::vector<float>& found, const Expected& expected) {
  INFO(what);
  REQUIRE(found.size() == expected.value.size());
  std::size_t misses = 0;
  std::size_t first = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!(std::fabs(found[k] - expected.value[k]) <= expected.tolerance[k]) && misses++ == 0) first = k;
  }
  CHECK_MESSAGE(misses == 0, misses, " of ", found.size(), " entries are off; entry ", first, " is ",
                found[first], ", expected ", expected.value[first], " ± ", expected.tolerance[first]);
}

void check_statistics(const PassStatistics& found, const ExpectedStatistics& expected) {
  CHECK_FALSE(!(std::fabs(found.squared_residual - expected.squared_residual) <= expected.tolerance));
  CHECK(found.correct >= expected.certainly_correct);
  CHECK(found.correct <= expected.certainly_correct + expected.doubtful);
}

// Inputs and what they must give. Computed once for all variants.
struct Case {
  Images images;
  std::vector<float> weights;
  Expected scores;
  Expected residual;
  ExpectedStatistics statistics;
  Expected fused_gradient;
  std::vector<float> given_residual;
  Expected gradient;  // of given_residual
};

Case make_case(Images images) {
  Case made;
  made.weights = random_floats(kWeights, 0.05f, 5);
  made.scores = expected_scores(images, made.weights);
  made.residual = expected_residual(images, made.weights);
  made.statistics = expected_statistics(images, made.weights);
  made.fused_gradient = expected_gradient(images, made.residual);
  const std::size_t outputs = images.labels.size() * kClasses;
  made.given_residual = random_floats(outputs, 1.5f, 77);
  const std::vector<double> exact(made.given_residual.begin(), made.given_residual.end());
  made.gradient = expected_gradient(images, {exact, std::vector<double>(outputs, 0.0)});
  made.images = std::move(images);
  return made;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> made;
    for (int count : kCounts)
      made.push_back(make_case(random_images(count, static_cast<std::uint32_t>(count))));
    for (int byte : {0, 1, 255}) {
      made.push_back(make_case(uniform_images(kTile + 3, static_cast<std::uint8_t>(byte))));
    }
    return made;
  }();
  return all;
}

std::vector<std::string> residual_kernels() {
  std::vector<std::string> names;
  for (const auto& variant : kernels::residual_variants())
    names.push_back("residual=" + std::string(variant.name));
  return names;
}

std::vector<std::string> gradient_kernels() {
  std::vector<std::string> names;
  for (const auto& variant : kernels::gradient_variants())
    names.push_back("gradient=" + std::string(variant.name));
  return names;
}

// Those of the lists that the device has.
std::vector<std::string> pass_kernels() {
  std::vector<std::string> names;
  const auto device = open_under_test();
  for (const std::string& kernel : device->info().kernels)
    if (kernel.starts_with("pass=")) names.push_back(kernel);
  return names;
}

template <class T>
bool same_bits(const std::vector<T>& left, const std::vector<T>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](T a, T b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

}  // namespace

TEST_CASE("scores and counts agree with float64") {
  const auto device = open_under_test();
  Runner run(*device);
  for (const Case& given : cases()) {
    CAPTURE(given.images.labels.size());
    check_close("scores", run.scores(given.images, given.weights), given.scores);
    const std::uint32_t correct = run.count_correct(given.images, given.weights);
    CHECK(correct >= given.statistics.certainly_correct);
    CHECK(correct <= given.statistics.certainly_correct + given.statistics.doubtful);
  }
}

TEST_CASE("every residual kernel agrees with float64") {
  CHECK(residual_kernels().size() >= 2);
  for (const std::string& kernel : residual_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    for (const Case& given : cases()) {
      CAPTURE(given.images.labels.size());
      const ResidualResult found = run.residual(given.images, given.weights);
      check_close("residual", found.residual, given.residual);
      check_statistics(found.statistics, given.statistics);
    }
  }
}

TEST_CASE("every gradient kernel agrees with float64") {
  CHECK(gradient_kernels().size() >= 2);
  for (const std::string& kernel : gradient_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    for (const Case& given : cases()) {
      CAPTURE(given.images.labels.size());
      check_close("gradient", run.gradient(given.images, given.given_residual), given.gradient);
    }
  }
}

TEST_CASE("loss and gradient of every pass agree with float64, sizes falling and rising") {
  CHECK(!pass_kernels().empty());
  for (const std::string& kernel : pass_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    std::vector<const Case*> order;
    for (const Case& given : cases()) order.push_back(&given);
    std::reverse(order.begin(), order.end());
    for (const Case& given : cases()) order.push_back(&given);
    for (const Case* given : order) {
      CAPTURE(given->images.labels.size());
      const GradientResult found = run.loss_and_gradient(given->images, given->weights);
      check_close("loss_and_gradient", found.gradient, given->fused_gradient);
      check_statistics(found.statistics, given->statistics);
    }
  }
}

TEST_CASE("iterations go the way that single steps go") {
  const Case& given = cases()[std::size(kCounts) - 1];
  constexpr int kIterations = 3;
  constexpr float kRate = 0.02f;
  std::vector<std::string> kernels = pass_kernels();
  for (const std::string& residual : residual_kernels()) kernels.push_back(residual);
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    const DescentResult found = run.descend(given.images, given.weights, kRate, kIterations);
    std::vector<float> weights = given.weights;
    for (std::size_t k = 0; k < kIterations; ++k) {
      const GradientResult pass = run.loss_and_gradient(given.images, weights);
      CHECK(found.statistics[k] == pass.statistics);
      for (std::size_t i = 0; i < kWeights; ++i) weights[i] = std::fmaf(-kRate, pass.gradient[i], weights[i]);
    }
    CHECK(same_bits(found.weights, weights));
  }
}

TEST_CASE("results are the same in every run, bit for bit") {
  const Case& given = cases()[std::size(kCounts) - 1];
  for (const std::string& residual : residual_kernels()) {
    for (const std::string& gradient : gradient_kernels()) {
      CAPTURE(residual);
      CAPTURE(gradient);
      const auto device = open_under_test(residual + "," + gradient);
      Runner run(*device);
      const ResidualResult first = run.residual(given.images, given.weights);
      const GradientResult first_pass = run.loss_and_gradient(given.images, given.weights);
      for (int repeat = 0; repeat < 3; ++repeat) {
        const ResidualResult again = run.residual(given.images, given.weights);
        CHECK(same_bits(first.residual, again.residual));
        CHECK(first.statistics == again.statistics);
        const GradientResult pass = run.loss_and_gradient(given.images, given.weights);
        CHECK(same_bits(first_pass.gradient, pass.gradient));
        CHECK(first_pass.statistics == pass.statistics);
      }
    }
  }
  for (const std::string& kernel : pass_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    const GradientResult first = run.loss_and_gradient(given.images, given.weights);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const GradientResult again = run.loss_and_gradient(given.images, given.weights);
      CHECK(same_bits(first.gradient, again.gradient));
      CHECK(first.statistics == again.statistics);
    }
  }
}

TEST_CASE("weights that are infinite or not a number show in every pass") {
  const Case& given = cases()[3];
  for (const std::string& kernel : pass_kernels()) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    for (float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (std::size_t at :
           {std::size_t{3}, std::size_t{9 * kFeatures + 500}, std::size_t{4 * kFeatures + kPixels}}) {
        CAPTURE(at);
        std::vector<float> weights = given.weights;
        weights[at] = bad;
        const GradientResult found = run.loss_and_gradient(given.images, weights);
        CHECK_FALSE(std::isfinite(found.statistics.squared_residual));
        const std::size_t c = at / kFeatures;
        CHECK_FALSE(std::isfinite(found.gradient[c * kFeatures + kPixels]));
        CHECK_FALSE(std::isfinite(found.gradient[c * kFeatures + 400]));
      }
    }
  }
}

TEST_CASE("weights start at splitmix32 fractions") {
  const auto device = open_under_test();
  for (std::uint32_t seed : {0u, 1234567u, 4294964000u}) {
    CAPTURE(seed);
    GuardedBuffer<float> weights(*device, kWeights, std::nanf(""), -1.0f);
    device->ops().initialise(weights.data(), seed);
    const std::vector<float> found = weights.values();
    int off = 0;
    for (std::uint64_t i = 0; i < kWeights; ++i) {
      // With products and sums that cannot wrap and remainders taken by division.
      constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32;
      std::uint64_t s = (i + seed) % kTwoTo32;
      s = ((s ^ (s / 65536)) * 2246822507u) % kTwoTo32;
      s = ((s ^ (s / 8192)) * 3266489909u) % kTwoTo32;
      s = s ^ (s / 65536);
      if (found[i] != static_cast<float>(0.01 * (static_cast<double>(s / 256) / 16777216.0 - 0.5))) ++off;
    }
    CHECK(off == 0);
  }
}

TEST_CASE("a step goes down the gradient") {
  const auto device = open_under_test();
  const std::vector<float> before = random_floats(kWeights, 1.0f, 8);
  const std::vector<float> gradient = random_floats(kWeights, 3.0f, 9);
  Buffer<float> weights(*device, before);
  const Buffer<float> slope(*device, gradient);
  device->ops().step(weights.data(), slope.data(), 0.3f);
  Expected expected;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double change = static_cast<double>(0.3f) * gradient[i];
    expected.value.push_back(before[i] - change);
    expected.tolerance.push_back(std::ldexp(std::fabs(before[i]) + std::fabs(change), -23));
  }
  check_close("step", weights.to_vector(), expected);
}

TEST_CASE("the lowest of the highest classes is right, and none where a score is NaN") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Example {
    std::vector<float> scores;
    int right;  // the only label that is right; −1: none is
  };
  const Example examples[] = {
      {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0},         {{0, 0, 0, 1, 0, 0, 0, 1, 0, 0}, 3},
      {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 9},         {{-1, -0.0f, 0.0f, -1, -1, -1, -1, -1, -1, -1}, 1},
      {{0, 0, 0, 0, 0, 0, kInfinity, 0, 0, 1}, 6}, {{0, 0, 2, 0, 0, kNaN, 0, 0, 0, 0}, -1},
      {{kNaN, 0, 2, 0, 0, 0, 0, 0, 0, 0}, -1},
  };
  std::vector<std::string> kernels = residual_kernels();
  for (const std::string& pass : pass_kernels()) kernels.push_back(pass);
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    Runner run(*device);
    for (const Example& example : examples) {
      std::vector<float> weights(kWeights, 0.0f);  // scores are the biases alone
      for (std::size_t c = 0; c < kClasses; ++c) weights[c * kFeatures + kPixels] = example.scores[c];
      for (int label = 0; label < kClasses; ++label) {
        CAPTURE(label);
        Images images = uniform_images(3, 200);
        images.labels.assign(3, static_cast<std::uint8_t>(label));
        const std::uint32_t expected = label == example.right ? 3 : 0;
        CHECK(run.residual(images, weights).statistics.correct == expected);
        CHECK(run.loss_and_gradient(images, weights).statistics.correct == expected);
        CHECK(run.count_correct(images, weights) == expected);
      }
    }
  }
}

TEST_CASE("operations refuse what they cannot do") {
  const auto device = open_under_test();
  Ops& ops = device->ops();
  const Images one = random_images(2, 1);
  const Buffer<std::uint8_t> pixels(*device, one.pixels);
  const Buffer<std::uint8_t> labels(*device, one.labels);
  Buffer<float> weights(*device, random_floats(kWeights, 0.05f, 5));
  Buffer<float> result(*device, kWeights);
  Buffer<PassStatistics> statistics(*device, 1);
  Buffer<std::uint32_t> correct(*device, 1);
  const LabelledImages refused[] = {{pixels.data(), labels.data(), 0},
                                    {pixels.data(), labels.data(), -1},
                                    {pixels.data() + 2, labels.data(), 1}};  // not at a word's beginning
  for (const LabelledImages& images : refused) {
    CHECK_THROWS_AS(ops.scores(images.pixels, images.count, weights.data(), result.data()), DeviceError);
    CHECK_THROWS_AS(ops.residual(images, weights.data(), result.data(), statistics.data()), DeviceError);
    CHECK_THROWS_AS(ops.gradient(images, weights.data(), result.data()), DeviceError);
    CHECK_THROWS_AS(ops.loss_and_gradient(images, weights.data(), result.data(), statistics.data()),
                    DeviceError);
    CHECK_THROWS_AS(ops.count_correct(images, weights.data(), correct.data()), DeviceError);
  }
  device->synchronize();
}

}  // namespace mnistd::gpu
