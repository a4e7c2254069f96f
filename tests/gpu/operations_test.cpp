// Every operation of every implementation against float64, at sizes around its tiles and chunks, for each vector unit
// that was compiled and that this machine has.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_ops.h"
#include "gpu/error.h"
#include "tests/gpu/formulas.h"
#include "tests/gpu/guarded.h"
#include "tests/gpu/only_target.h"

namespace mnistd::gpu {
namespace {

constexpr int kCounts[] = {1,
                           2,
                           cpu::kTileImages - 1,
                           cpu::kTileImages + 1,
                           cpu::kChunkImages - 1,
                           cpu::kChunkImages,
                           cpu::kChunkImages + 1,
                           2 * cpu::kChunkImages + 237};

// One message for a whole matrix: the entry that misses its tolerance by most.
void check_close(const char* what, const GuardedFloats& found, const Expected& expected) {
  INFO(what);
  REQUIRE(found.size() == expected.value.size());
  CHECK_MESSAGE(found.intact(), "written beyond the result");
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

// Inputs and what they must give. Computed once for all implementations.
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
      for (int count : {3, cpu::kChunkImages + 3}) {
        made.push_back(make_case(uniform_images(count, static_cast<std::uint8_t>(byte))));
      }
    }
    return made;
  }();
  return all;
}

void check_case(Ops& ops, const Case& given) {
  const LabelledImages view = given.images.view();
  const std::size_t outputs = given.images.labels.size() * kClasses;
  const PassStatistics poison = {std::nan(""), 0xdeadbeef, 0};
  CAPTURE(view.count);
  CAPTURE(static_cast<int>(view.pixels[0]));

  GuardedFloats scores(outputs);
  ops.scores(view.pixels, view.count, given.weights.data(), scores.data());
  check_close("scores", scores, given.scores);

  GuardedFloats residual(outputs);
  PassStatistics found = poison;
  ops.residual(view, given.weights.data(), residual.data(), &found);
  check_close("residual", residual, given.residual);
  check_statistics(found, given.statistics);

  GuardedFloats gradient(kWeights);
  ops.gradient(view, given.given_residual.data(), gradient.data());
  check_close("gradient", gradient, given.gradient);

  GuardedFloats fused(kWeights);
  found = poison;
  ops.loss_and_gradient(view, given.weights.data(), fused.data(), &found);
  check_close("loss_and_gradient", fused, given.fused_gradient);
  check_statistics(found, given.statistics);

  std::uint32_t correct = 0xdeadbeef;
  ops.count_correct(view, given.weights.data(), &correct);
  CHECK(correct == found.correct);
}

void check_sizes_and_extremes(Ops& ops) {
  for (const Case& given : cases()) check_case(ops, given);
}

void check_step(Ops& ops) {
  const std::vector<float> before = random_floats(kWeights, 1.0f, 8);
  const std::vector<float> gradient = random_floats(kWeights, 3.0f, 9);
  GuardedFloats weights(kWeights);
  std::copy(before.begin(), before.end(), weights.data());
  ops.step(weights.data(), gradient.data(), 0.3f);
  Expected expected;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double change = static_cast<double>(0.3f) * gradient[i];
    expected.value.push_back(before[i] - change);
    expected.tolerance.push_back(std::ldexp(std::fabs(before[i]) + std::fabs(change), -23));
  }
  check_close("step", weights, expected);
}

void check_no_images(Ops& ops) {
  const Images one = random_images(1, 1);
  const std::vector<float> weights = random_floats(kWeights, 0.05f, 5);
  GuardedFloats result(kWeights);
  PassStatistics statistics;
  std::uint32_t correct = 0;
  for (int count : {0, -1}) {
    const LabelledImages none = {one.pixels.data(), one.labels.data(), count};
    CHECK_THROWS_AS(ops.scores(none.pixels, count, weights.data(), result.data()), DeviceError);
    CHECK_THROWS_AS(ops.residual(none, weights.data(), result.data(), &statistics), DeviceError);
    CHECK_THROWS_AS(ops.gradient(none, weights.data(), result.data()), DeviceError);
    CHECK_THROWS_AS(ops.loss_and_gradient(none, weights.data(), result.data(), &statistics), DeviceError);
    CHECK_THROWS_AS(ops.count_correct(none, weights.data(), &correct), DeviceError);
  }
}

}  // namespace

TEST_CASE("the reference operations agree with float64") {
  cpu::ReferenceOps ops;
  check_sizes_and_extremes(ops);
  check_step(ops);
  check_no_images(ops);
}

TEST_CASE("the SIMD operations agree with float64") {
  for (int threads : {1, 3}) {
    CAPTURE(threads);
    cpu::SimdOps ops(threads);
    check_sizes_and_extremes(ops);
    check_step(ops);
    check_no_images(ops);
  }
}

TEST_CASE("the SIMD operations agree with float64 on every vector unit of this machine") {
  on_every_vector_unit([] {
    cpu::SimdOps ops(2);
    check_sizes_and_extremes(ops);
  });
}

}  // namespace mnistd::gpu
