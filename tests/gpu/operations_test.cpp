// Every operation of every implementation against float64, at sizes around its tiles and chunks, for each vector unit
// that was compiled and that this machine has.
#include <bit>
#include <cmath>
#include <string>

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_kernels.h"
#include "gpu/cpu/simd_ops.h"
#include "gpu/error.h"
#include "tests/gpu/formulas.h"
#include "tests/gpu/guarded.h"

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

void check_operations(Ops& ops, const Images& images, const std::vector<float>& weights) {
  const LabelledImages view = images.view();
  const std::size_t outputs = images.labels.size() * kClasses;
  const Expected residual = expected_residual(images, weights);
  const ExpectedStatistics statistics = expected_statistics(images, weights);
  const PassStatistics poison = {std::nan(""), 0xdeadbeef, 0};
  CAPTURE(images.labels.size());

  GuardedFloats scores(outputs);
  ops.scores(view.pixels, view.count, weights.data(), scores.data());
  check_close("scores", scores, expected_scores(images, weights));

  GuardedFloats found_residual(outputs);
  PassStatistics found = poison;
  ops.residual(view, weights.data(), found_residual.data(), &found);
  check_close("residual", found_residual, residual);
  check_statistics(found, statistics);

  const std::vector<float> given = random_floats(outputs, 1.5f, 77);
  const Expected exact = {std::vector<double>(given.begin(), given.end()), std::vector<double>(outputs, 0.0)};
  GuardedFloats gradient(kWeights);
  ops.gradient(view, given.data(), gradient.data());
  check_close("gradient", gradient, expected_gradient(images, exact));

  GuardedFloats fused(kWeights);
  found = poison;
  ops.loss_and_gradient(view, weights.data(), fused.data(), &found);
  check_close("loss_and_gradient", fused, expected_gradient(images, residual));
  check_statistics(found, statistics);

  std::uint32_t correct = 0xdeadbeef;
  ops.count_correct(view, weights.data(), &correct);
  CHECK(correct == found.correct);
}

void check_sizes_and_extremes(Ops& ops) {
  const std::vector<float> weights = random_floats(kWeights, 0.05f, 5);
  for (int count : kCounts)
    check_operations(ops, random_images(count, static_cast<std::uint32_t>(count)), weights);
  for (int byte : {0, 1, 255}) {
    CAPTURE(byte);
    for (int count : {3, cpu::kChunkImages + 3}) {
      check_operations(ops, uniform_images(count, static_cast<std::uint8_t>(byte)), weights);
    }
  }
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

// A test's choice of vector unit, undone at its end.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
  ~OnlyTarget() { hwy::SetSupportedTargetsForTest(0); }
};

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
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  CHECK(std::popcount(static_cast<std::uint64_t>(targets)) >= 1);
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = targets & (std::int64_t{1} << bit);
    if (target == 0) continue;
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    const OnlyTarget only(target);
    CHECK(cpu::vector_unit().name == name);
    cpu::SimdOps ops(2);
    check_sizes_and_extremes(ops);
    MESSAGE("checked on " << name << ", " << cpu::vector_unit().floats << " floats a vector");
  }
}

}  // namespace mnistd::gpu
