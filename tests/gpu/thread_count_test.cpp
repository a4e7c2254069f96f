// Results depend neither on the number of threads nor on chance, nor on how iterations are cut into calls: not a bit.
#include <cstring>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/simd_ops.h"
#include "tests/gpu/formulas.h"

namespace mnistd::gpu {
namespace {

struct Results {
  std::vector<float> floats;
  std::vector<PassStatistics> statistics;
  std::uint32_t correct = 0;
};

Results run_all(Ops& ops, const Images& images, const std::vector<float>& weights) {
  const LabelledImages view = images.view();
  const std::size_t outputs = images.labels.size() * kClasses;
  std::vector<float> scores(outputs), residual(outputs), gradient(kWeights), fused(kWeights);
  Results results;
  results.statistics.resize(2);
  ops.scores(view.pixels, view.count, weights.data(), scores.data());
  ops.residual(view, weights.data(), residual.data(), &results.statistics[0]);
  ops.gradient(view, residual.data(), gradient.data());
  ops.loss_and_gradient(view, weights.data(), fused.data(), &results.statistics[1]);
  ops.count_correct(view, weights.data(), &results.correct);
  for (const auto* part : {&scores, &residual, &gradient, &fused}) {
    results.floats.insert(results.floats.end(), part->begin(), part->end());
  }
  return results;
}

bool same_bits(const Results& a, const Results& b) {
  return a.floats.size() == b.floats.size() && a.correct == b.correct &&
         std::memcmp(a.floats.data(), b.floats.data(), a.floats.size() * sizeof(float)) == 0 &&
         std::memcmp(a.statistics.data(), b.statistics.data(), 2 * sizeof(PassStatistics)) == 0;
}

}  // namespace

TEST_CASE("results are the same bits with 1, 2, 3 and 7 threads") {
  const std::vector<float> weights = random_floats(kWeights, 0.05f, 21);
  for (int count : {1, 41, 8 * cpu::kChunkImages + 77}) {
    CAPTURE(count);
    const Images images = random_images(count, 22);
    cpu::SimdOps alone(1);
    const Results expected = run_all(alone, images, weights);
    for (int threads : {1, 2, 3, 7}) {
      CAPTURE(threads);
      cpu::SimdOps ops(threads);
      for (int repeat = 0; repeat < 3; ++repeat) CHECK(same_bits(run_all(ops, images, weights), expected));
    }
  }
}

TEST_CASE("a descent is the same bits with any number of threads, in one call and in many") {
  constexpr int kIterations = 7;
  const std::vector<float> begin = random_floats(kWeights, 0.05f, 21);
  for (int count : {1, 65, 3 * cpu::kChunkImages + 77}) {
    CAPTURE(count);
    const Images images = random_images(count, 26);
    cpu::SimdOps stepwise(1);
    std::vector<float> expected = begin;
    std::vector<PassStatistics> expected_statistics(kIterations);
    for (PassStatistics& statistics : expected_statistics) {
      std::vector<float> gradient(kWeights);
      stepwise.loss_and_gradient(images.view(), expected.data(), gradient.data(), &statistics);
      stepwise.step(expected.data(), gradient.data(), 0.003f);
    }
    for (int threads : {1, 2, 3, 7}) {
      for (const std::vector<int>& calls : {std::vector{kIterations}, {1, 1, 5}, {3, 4}}) {
        CAPTURE(threads);
        CAPTURE(calls.size());
        cpu::SimdOps ops(threads);
        std::vector<float> weights = begin;
        std::vector<PassStatistics> statistics(kIterations);
        PassStatistics* next = statistics.data();
        for (int iterations : calls) {
          ops.descend(images.view(), weights.data(), 0.003f, iterations, next);
          next += iterations;
        }
        CHECK(std::memcmp(weights.data(), expected.data(), sizeof(float) * kWeights) == 0);
        CHECK(std::memcmp(statistics.data(), expected_statistics.data(),
                          sizeof(PassStatistics) * kIterations) == 0);
      }
    }
  }
}

TEST_CASE("an earlier pass over other images leaves no trace") {
  const std::vector<float> weights = random_floats(kWeights, 0.05f, 21);
  const Images few = random_images(43, 23);
  cpu::SimdOps fresh(2);
  const Results expected = run_all(fresh, few, weights);
  cpu::SimdOps used(2);
  run_all(used, uniform_images(3 * cpu::kChunkImages + 1, 255), random_floats(kWeights, 9.0f, 24));
  CHECK(same_bits(run_all(used, few, weights), expected));
}

TEST_CASE("an image's scores do not depend on its company") {
  const std::vector<float> weights = random_floats(kWeights, 0.05f, 21);
  const Images images = random_images(cpu::kTileImages + 1, 25);
  cpu::SimdOps ops(1);
  std::vector<float> together(images.labels.size() * kClasses);
  ops.scores(images.pixels.data(), static_cast<int>(images.labels.size()), weights.data(), together.data());
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    std::vector<float> alone(kClasses);
    ops.scores(images.pixels.data() + i * kPixels, 1, weights.data(), alone.data());
    CHECK(std::memcmp(alone.data(), together.data() + i * kClasses, sizeof(float) * kClasses) == 0);
  }
}

}  // namespace mnistd::gpu
