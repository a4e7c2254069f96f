// What counts as classified right: the highest score, the lowest class among equals, no NaN.
#include <limits>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_ops.h"
#include "tests/gpu/formulas.h"

namespace mnistd::gpu {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  const char* what;
  std::vector<float> scores;
  int right;  // the only label that is right; −1: none is
};

const Case kCases[] = {
    {"all equal", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0},
    {"two equal at the top", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0}, 3},
    {"the last is highest", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 9},
    {"the first is highest", {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 0},
    {"zeros of both signs are equal", {-1, -0.0f, 0.0f, -1, -1, -1, -1, -1, -1, -1}, 1},
    {"all below zero", {-5, -5, -4, -5, -5, -5, -5, -5, -5, -5}, 2},
    {"infinity is highest", {0, 0, 0, 0, 0, 0, kInfinity, 0, 0, 1}, 6},
    {"NaN in another class", {0, 0, 2, 0, 0, kNaN, 0, 0, 0, 0}, -1},
    {"NaN below the highest", {kNaN, 0, 2, 0, 0, 0, 0, 0, 0, 0}, -1},
    {"NaN everywhere", {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN}, -1},
};

}  // namespace

TEST_CASE("the lowest of the highest classes is right, and none where a score is NaN") {
  std::vector<std::unique_ptr<Ops>> implementations;
  implementations.push_back(std::make_unique<cpu::ReferenceOps>());
  implementations.push_back(std::make_unique<cpu::SimdOps>(2));
  for (const auto& ops : implementations) {
    for (const Case& example : kCases) {
      CAPTURE(example.what);
      std::vector<float> weights(kWeights, 0.0f);  // scores are the biases alone
      for (std::size_t c = 0; c < kClasses; ++c) weights[c * kFeatures + kPixels] = example.scores[c];
      for (int label = 0; label < kClasses; ++label) {
        CAPTURE(label);
        Images images = uniform_images(3, 200);
        images.labels.assign(3, static_cast<std::uint8_t>(label));
        const std::uint32_t expected = label == example.right ? 3 : 0;

        std::uint32_t correct = 99;
        ops->count_correct(images.view(), weights.data(), &correct);
        CHECK(correct == expected);

        PassStatistics statistics;
        std::vector<float> gradient(kWeights);
        ops->loss_and_gradient(images.view(), weights.data(), gradient.data(), &statistics);
        CHECK(statistics.correct == expected);

        std::vector<float> residual(3 * kClasses);
        ops->residual(images.view(), weights.data(), residual.data(), &statistics);
        CHECK(statistics.correct == expected);
      }
    }
  }
}

}  // namespace mnistd::gpu
