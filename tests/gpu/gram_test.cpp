// The normal equations: XᵀX and YX against sums of 64-bit integers, to the last bit, and descent by them against float64.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_gram_build.h"
#include "gpu/cpu/simd_ops.h"
#include "gpu/error.h"
#include "tests/gpu/formulas.h"
#include "tests/gpu/only_target.h"

namespace mnistd::gpu {
namespace {

struct Gram {
  std::vector<std::uint64_t> products = std::vector<std::uint64_t>(kFeatures * kFeatures, 0);
  std::vector<std::uint64_t> class_sums = std::vector<std::uint64_t>(kWeights, 0);
  bool operator==(const Gram&) const = default;
};

Gram expected_gram(const Images& images) {
  Gram gram;
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    const auto x = [&](std::size_t a) {
      return std::uint64_t{a < kPixels ? images.pixels[kPixels * i + a] : 1u};
    };
    for (std::size_t a = 0; a < kFeatures; ++a) {
      if (x(a) == 0) continue;
      gram.class_sums[kFeatures * images.labels[i] + a] += x(a);
      for (std::size_t b = 0; b < kFeatures; ++b) gram.products[kFeatures * a + b] += x(a) * x(b);
    }
  }
  return gram;
}

Gram found_gram(Ops& ops, const Images& images) {
  Gram gram;
  std::fill(gram.products.begin(), gram.products.end(), 0xdeadbeefdeadbeef);
  std::fill(gram.class_sums.begin(), gram.class_sums.end(), 0xdeadbeefdeadbeef);
  ops.gram(images.view(), gram.products.data(), gram.class_sums.data());
  return gram;
}

// As real images are: most pixels blank, some blank in every image, and a few of the images altogether.
Images sparse_images(int count, std::uint32_t seed) {
  Images images = random_images(count, seed);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    const std::size_t begin = 30 + random() % 300;
    const std::size_t end = i % 13 == 5 ? 0 : begin + random() % 350;
    for (std::size_t p = 0; p < kPixels; ++p) {
      if (p < begin || p >= end || p % 28 < 3 || p % 5 == 1) images.pixels[kPixels * i + p] = 0;
    }
  }
  return images;
}

struct GramCase {
  Images images;
  Gram gram;
};

const std::vector<GramCase>& gram_cases() {
  static const std::vector<GramCase> cases = [] {
    std::vector<Images> images;
    for (int count : {1, 2, 3, 65}) images.push_back(random_images(count, static_cast<std::uint32_t>(count)));
    for (int count :
         {1, cpu::kGramTileImages - 1, cpu::kGramTileImages + 1, 2 * cpu::kGramTileImages + 129}) {
      images.push_back(sparse_images(count, static_cast<std::uint32_t>(count)));
    }
    images.push_back(random_images(200, 8));
    images.push_back(uniform_images(130, 255));
    images.push_back(uniform_images(5, 0));
    std::vector<GramCase> made;
    for (Images& each : images) made.push_back({each, expected_gram(each)});
    return made;
  }();
  return cases;
}

void check_gram(Ops& ops, std::size_t most_images) {
  for (const GramCase& given : gram_cases()) {
    if (given.images.labels.size() > most_images) continue;
    CAPTURE(given.images.labels.size());
    CHECK(found_gram(ops, given.images) == given.gram);
  }
}

// G and C over n, as a device wants them.
struct System {
  cpu::AlignedArray<float> products{kFeatures * kGramStride};
  cpu::AlignedArray<float> class_sums{kClasses * kGramStride};
  int images;
  GramSystem view() const { return {products.data(), class_sums.data(), images}; }
};

System system_of(const Images& images) {
  const Gram gram = expected_gram(images);
  System system;
  system.images = static_cast<int>(images.labels.size());
  std::fill_n(system.products.data(), system.products.size(), 0.0f);
  std::fill_n(system.class_sums.data(), system.class_sums.size(), 0.0f);
  const auto unit = [](std::size_t a) { return a < kPixels ? 255.0 : 1.0; };
  for (std::size_t b = 0; b < kFeatures; ++b) {
    for (std::size_t a = 0; a < kFeatures; ++a) {
      const double sum = static_cast<double>(gram.products[kFeatures * a + b]) / unit(a) / unit(b);
      system.products.data()[kGramStride * a + b] = static_cast<float>(sum / system.images);
    }
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double sum = static_cast<double>(gram.class_sums[kFeatures * c + b]) / unit(b);
      system.class_sums.data()[kGramStride * c + b] = static_cast<float>(sum / system.images);
    }
  }
  return system;
}

// One iteration in float64 from the given weights, and what float32 may be off by. XᵀX is symmetric: its rows are its columns.
struct ExpectedStep {
  Expected weights;
  double loss = 1;
  double loss_tolerance = 0;
};

ExpectedStep expected_step(const GramSystem& system, const std::vector<float>& weights, float rate) {
  const double epsilon = std::ldexp(1.0, -24) * (8.0 + kFeatures / 8.0);
  ExpectedStep expected;
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t b = 0; b < kFeatures; ++b) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t a = 0; a < kFeatures; ++a) {
        const double term = static_cast<double>(weights[kFeatures * c + a]) *
                            static_cast<double>(system.products[kGramStride * b + a]);
        sum += term;
        magnitude += std::fabs(term);
      }
      const double w = weights[kFeatures * c + b];
      const double target = system.class_sums[kGramStride * c + b];
      expected.weights.value.push_back(w - 2.0 * rate * (sum - target));
      expected.weights.tolerance.push_back(epsilon * (std::fabs(w) + 2.0 * rate * (magnitude + target)));
      expected.loss += w * (sum - 2 * target);
      expected.loss_tolerance += epsilon * std::fabs(w) * (magnitude + 2 * target);
    }
  }
  return expected;
}

// Step by step from the weights that were found, so that errors do not add up.
void check_descent(Ops& ops, const Images& images, float rate) {
  const System system = system_of(images);
  std::vector<float> weights = random_floats(kWeights, 0.05f, 31);
  CAPTURE(system.images);
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    const ExpectedStep expected = expected_step(system.view(), weights, rate);
    const std::vector<float> before = weights;
    PassStatistics statistics = {std::nan(""), 0xdeadbeef, 0};
    ops.gram_descend(system.view(), weights.data(), rate, 1, &statistics);
    std::size_t misses = 0;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      misses += !(std::fabs(weights[i] - expected.weights.value[i]) <= expected.weights.tolerance[i]);
      const std::size_t a = i % kFeatures;
      const bool blank = system.products.data()[(kGramStride + 1) * a] == 0;
      moved += blank && weights[i] != before[i];
    }
    CHECK(misses == 0);
    CHECK_MESSAGE(moved == 0, "weights of pixels that are blank in all images stay");
    CHECK_FALSE(
        !(std::fabs(statistics.squared_residual / system.images - expected.loss) <= expected.loss_tolerance));
    CHECK(statistics.correct == 0);
  }
}

void check_descents(Ops& ops) {
  check_descent(ops, random_images(300, 40), 0.002f);
  check_descent(ops, sparse_images(300, 41), 0.01f);
  check_descent(ops, sparse_images(1, 42), 0.3f);
  check_descent(ops, uniform_images(20, 0), 0.1f);
}

void check_no_images(Ops& ops) {
  Images none = uniform_images(1, 1);
  Gram gram;
  System system = system_of(none);
  std::vector<float> weights(kWeights);
  PassStatistics statistics;
  for (int count : {0, -1}) {
    const LabelledImages view = {none.pixels.data(), none.labels.data(), count};
    CHECK_THROWS_AS(ops.gram(view, gram.products.data(), gram.class_sums.data()), DeviceError);
    system.images = count;
    CHECK_THROWS_AS(ops.gram_descend(system.view(), weights.data(), 0.1f, 1, &statistics), DeviceError);
  }
}

}  // namespace

TEST_CASE("the reference's normal equations are exact, and its descent agrees with float64") {
  cpu::ReferenceOps ops;
  check_gram(ops, 130);  // it knows no tiles
  check_descents(ops);
  check_no_images(ops);
}

TEST_CASE(
    "the normal equations are exact, and descent agrees with float64, on every vector unit of this machine") {
  on_every_vector_unit([] {
    cpu::SimdOps ops(2);
    check_gram(ops, std::numeric_limits<std::size_t>::max());
    check_descents(ops);
    check_no_images(ops);
  });
}

TEST_CASE("the normal equations are exact beyond the images that 32 bits have room for") {
  constexpr int kCount = cpu::kGramMostImages + cpu::kGramTileImages + 1;
  static_assert(std::uint64_t{255} * 255 * kCount > std::numeric_limits<std::uint32_t>::max());
  const Images images = uniform_images(kCount, 255);
  Gram expected;
  for (std::size_t a = 0; a < kFeatures; ++a) {
    for (std::size_t b = 0; b < kFeatures; ++b) {
      expected.products[kFeatures * a + b] =
          std::uint64_t{kCount} * (a < kPixels ? 255 : 1) * (b < kPixels ? 255 : 1);
    }
    for (std::size_t c = 0; c < kClasses; ++c) {
      const std::uint64_t of_class = (kCount + kClasses - 1 - c) / kClasses;
      expected.class_sums[kFeatures * c + a] = of_class * (a < kPixels ? 255 : 1);
    }
  }
  cpu::SimdOps alone(1);  // one member's sums must hold them all
  CHECK(found_gram(alone, images) == expected);
}

TEST_CASE(
    "descent by the normal equations is the same bits with any number of threads, in one call and in many") {
  constexpr int kIterations = 7;
  for (const Images& images : {random_images(200, 50), sparse_images(200, 51)}) {
    const System system = system_of(images);
    const std::vector<float> begin = random_floats(kWeights, 0.05f, 52);
    std::vector<float> expected;
    std::vector<PassStatistics> expected_statistics;
    for (int threads : {1, 2, 3, 7}) {
      for (const std::vector<int>& calls : {std::vector{kIterations}, {1, 1, 5}, {3, 4}}) {
        CAPTURE(threads);
        CAPTURE(calls.size());
        cpu::SimdOps ops(threads);
        std::vector<float> weights = begin;
        std::vector<PassStatistics> statistics(kIterations);
        PassStatistics* next = statistics.data();
        for (int iterations : calls) {
          ops.gram_descend(system.view(), weights.data(), 0.003f, iterations, next);
          next += iterations;
        }
        if (expected.empty()) {
          expected = weights;
          expected_statistics = statistics;
        }
        CHECK(std::memcmp(weights.data(), expected.data(), sizeof(float) * kWeights) == 0);
        CHECK(std::memcmp(statistics.data(), expected_statistics.data(),
                          sizeof(PassStatistics) * kIterations) == 0);
      }
    }
  }
}

TEST_CASE("another system at the same place is not taken for the one before") {
  for (const bool named : {false, true}) {
    CAPTURE(named);
    System system = system_of(sparse_images(100, 60));
    const System other = system_of(random_images(100, 61));
    const std::vector<float> begin = random_floats(kWeights, 0.05f, 62);
    PassStatistics statistics;
    cpu::SimdOps fresh(2);
    std::vector<float> expected = begin;
    fresh.gram_descend(other.view(), expected.data(), 0.003f, 1, &statistics);

    cpu::SimdOps used(2);
    GramSystem view = system.view();
    view.id = named ? 1 : 0;
    std::vector<float> weights = begin;
    used.gram_descend(view, weights.data(), 0.003f, 1, &statistics);
    std::copy_n(other.products.data(), other.products.size(), system.products.data());
    std::copy_n(other.class_sums.data(), other.class_sums.size(), system.class_sums.data());
    view.id = named ? 2 : 0;
    weights = begin;
    used.gram_descend(view, weights.data(), 0.003f, 1, &statistics);
    CHECK(weights == expected);
    // Once more, of what may have been kept.
    weights = begin;
    used.gram_descend(view, weights.data(), 0.003f, 1, &statistics);
    CHECK(weights == expected);
  }
}

TEST_CASE("descent over the images and by their normal equations takes the same steps") {
  constexpr int kIterations = 40;
  const Images images = sparse_images(700, 70);
  const System system = system_of(images);
  cpu::SimdOps ops(2);
  std::vector<float> over_images(kWeights);
  ops.initialise(over_images.data(), 1234567);
  std::vector<float> by_equations = over_images;
  std::vector<PassStatistics> first(kIterations), second(kIterations);
  ops.descend(images.view(), over_images.data(), 0.01f, kIterations, first.data());
  ops.gram_descend(system.view(), by_equations.data(), 0.01f, kIterations, second.data());
  for (std::size_t i = 0; i < kWeights; ++i) CHECK(std::fabs(over_images[i] - by_equations[i]) < 1e-6f);
  for (std::size_t k = 0; k < kIterations; ++k) {
    CHECK(second[k].squared_residual == doctest::Approx(first[k].squared_residual).epsilon(1e-5));
  }
  CHECK(first.back().squared_residual < 0.9 * first.front().squared_residual);
}

}  // namespace mnistd::gpu
