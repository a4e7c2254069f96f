// The parts of the benchmark: statistics, images that repeat, and the truth against formulas that are not its own.
#include "gpu/bench/bench.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/bench/exact_gram.h"
#include "gpu/bench/summary.h"
#include "tests/gpu/formulas.h"

namespace mnistd::gpu::bench {
namespace {

const DeviceOptions kCpu = {.backend = Backend::cpu, .threads = 1};

HostImages made_up(int count, std::uint32_t seed) {
  const Images images = gpu::random_images(count, seed);
  return {"made up", images.pixels, images.labels};
}

// What a device would have: the host's images over and over.
Images repeated(const HostImages& host, int count) {
  Images images;
  for (int i = 0; i < count; ++i) {
    const auto first = host.pixels.begin() + static_cast<std::ptrdiff_t>(i % host.count()) * kPixels;
    images.pixels.insert(images.pixels.end(), first, first + kPixels);
    images.labels.push_back(host.labels[static_cast<std::size_t>(i % host.count())]);
  }
  return images;
}

}  // namespace

TEST_CASE("median and quartiles") {
  const Summary five = summarise({5, 1, 4, 2, 3});
  CHECK(five.median == 3);
  CHECK(five.lower == 2);
  CHECK(five.upper == 4);
  CHECK(five.least == 1);
  CHECK(five.most == 5);
  CHECK(five.count == 5);
  const Summary four = summarise({40, 10, 20, 30});
  CHECK(four.median == 25);
  CHECK(four.lower == 17.5);
  CHECK(four.upper == 32.5);
  const Summary one = summarise({7});
  CHECK(one.median == 7);
  CHECK(one.lower == 7);
  CHECK(one.upper == 7);
  CHECK(summarise({1, 100}).median == 50.5);
  CHECK(summarise({3, 3, 3, 1000}).median == 3);
  CHECK_THROWS_AS(summarise({}), std::invalid_argument);
}

TEST_CASE("images are repeated on the device, and the last copy may be cut") {
  const auto device = Device::open(kCpu);
  const HostImages host = made_up(5, 1);
  for (int count : {1, 4, 5, 6, 10, 13}) {
    const ResidentImages resident(*device, host, count);
    const Images expected = repeated(host, count);
    const LabelledImages view = resident.view();
    CHECK(view.count == count);
    CHECK(std::equal(expected.pixels.begin(), expected.pixels.end(), view.pixels));
    CHECK(std::equal(expected.labels.begin(), expected.labels.end(), view.labels));
    CHECK(resident.bytes() == static_cast<std::uint64_t>(count) * (kPixels + 1));
  }
}

TEST_CASE("sums over repeated images are exact, and a wrong one is found out") {
  const HostImages host = made_up(7, 2);
  const Images images = repeated(host, 17);
  ExactGram exact = exact_gram_repeated(host, 17);
  std::vector<std::uint64_t> products(kFeatures * kFeatures), class_sums(kWeights);
  for (std::size_t i = 0; i < 17; ++i) {
    std::vector<std::uint64_t> x(images.pixels.begin() + static_cast<std::ptrdiff_t>(i * kPixels),
                                 images.pixels.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPixels));
    x.push_back(1);
    for (std::size_t a = 0; a < kFeatures; ++a) {
      for (std::size_t b = 0; b < kFeatures; ++b) products[kFeatures * a + b] += x[a] * x[b];
      class_sums[kFeatures * images.labels[i] + a] += x[a];
    }
  }
  CHECK(exact.products == products);
  CHECK(exact.class_sums == class_sums);

  std::vector<std::uint64_t> of_host = exact_gram(host, 7).products;
  CHECK(is_gram_of(host, 7, of_host));
  CHECK_FALSE(is_gram_of(host, 6, of_host));
  for (std::size_t place : {std::size_t{0}, of_host.size() / 2, of_host.size() - 1}) {
    for (const std::uint64_t error : {std::uint64_t{1}, std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
      of_host[place] += error;
      CHECK_FALSE(is_gram_of(host, 7, of_host));
      of_host[place] -= error;
    }
  }
}

TEST_CASE("the truth agrees with the formulas in float64") {
  const HostImages host = made_up(9, 3);
  const int count = 23;
  const Truth truth(host, count);
  const Images images = repeated(host, count);
  const gpu::Expected scores = expected_scores(images, truth.weights());
  const gpu::Expected residual = expected_residual(images, truth.weights());
  for (int i = 0; i < count; ++i) {
    for (int c = 0; c < kClasses; ++c) {
      const std::size_t k = static_cast<std::size_t>(i * kClasses + c);
      CHECK(std::fabs(truth.score(i, c).value - scores.value[k]) < 1e-12);
      CHECK(std::fabs(truth.residual(i, c).value - residual.value[k]) < 1e-12);
      CHECK(truth.score(i, c).tolerance > 0);
      CHECK(truth.score(i, c).tolerance < 1e-3);
    }
  }
  const ExpectedStatistics statistics = expected_statistics(images, truth.weights());
  CHECK(std::fabs(truth.squared_residual().value / statistics.squared_residual - 1) < 1e-12);
  CHECK(truth.correct() >= statistics.certainly_correct);
  CHECK(truth.correct() <= statistics.certainly_correct + statistics.doubtful);

  const gpu::Expected gradient = expected_gradient(images, residual);
  const std::vector<Expected> found = truth.gradient(false);
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(std::fabs(found[i].value - gradient.value[i]) < 1e-10);
    CHECK(found[i].tolerance < 1e-3);
    largest = std::max(largest, std::fabs(found[i].value));
  }
  CHECK(largest > 0.1);  // so that the differences above say something
}

TEST_CASE("the truth of a descent is one by the images") {
  const HostImages host = made_up(9, 4);
  const int count = 20;
  const Truth truth(host, count);
  const Images images = repeated(host, count);
  const float rate = truth.safe_rate();
  CHECK(rate < 0.5 * truth.largest_stable_rate());
  const Descent descent = truth.descend(rate, 3);
  std::vector<double> weights(truth.initial_weights().begin(), truth.initial_weights().end());
  const auto pass = [&](std::vector<double>& gradient) {
    double squares = 0;
    gradient.assign(kWeights, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto x = [&](std::size_t a) {
        return a == kPixels ? 1.0 : images.pixels[i * kPixels + a] / 255.0;
      };
      for (std::size_t c = 0; c < kClasses; ++c) {
        double r = c == images.labels[i] ? -1 : 0;
        for (std::size_t a = 0; a < kFeatures; ++a) r += weights[c * kFeatures + a] * x(a);
        squares += r * r;
        for (std::size_t a = 0; a < kFeatures; ++a) gradient[c * kFeatures + a] += 2 * r * x(a) / count;
      }
    }
    return squares;
  };
  std::vector<double> gradient;
  for (std::size_t k = 0; k < 3; ++k) {
    const double squares = pass(gradient);
    CHECK(std::fabs(descent.squared_residuals[k].value / squares - 1) < 1e-9);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= static_cast<double>(rate) * gradient[i];
  }
  CHECK(std::fabs(descent.final_squared_residual.value / pass(gradient) - 1) < 1e-9);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CHECK(std::fabs(descent.weights[i] - weights[i]) < 1e-12);
    CHECK(descent.tolerance[i] < 1e-6);
  }
}

TEST_CASE("weights begin as Ops::initialise has them") {
  const auto device = Device::open(kCpu);
  Buffer<float> weights(*device, kWeights);
  device->ops().initialise(weights.data(), Truth::kSeed);
  CHECK(Truth(made_up(1, 5), 1).initial_weights() == weights.to_vector());
}

TEST_CASE("the least time that an operation can take") {
  const Limits limits = {.bytes = 1e9, .flops = 1e12, .byte_operations = 4e12};
  CHECK(bound_of({.flops = 2e9, .byte_operations = 0, .bytes = 1e6}, limits).milliseconds ==
        doctest::Approx(2));
  CHECK(bound_of({.flops = 2e9, .byte_operations = 0, .bytes = 1e6}, limits).by == "fp32");
  CHECK(bound_of({.flops = 2e9, .byte_operations = 0, .bytes = 3e6}, limits).milliseconds ==
        doctest::Approx(3));
  CHECK(bound_of({.flops = 2e9, .byte_operations = 0, .bytes = 3e6}, limits).by == "bytes of memory");
  CHECK(bound_of({.flops = 0, .byte_operations = 4e10, .bytes = 1}, limits).milliseconds ==
        doctest::Approx(10));
  CHECK(bound_of({.flops = 0, .byte_operations = 4e10, .bytes = 1}, limits).by == "byte products");
}

TEST_CASE("a variant is timed by the operations that are made of it") {
  const auto names = [](std::string_view kernel) {
    std::multiset<std::string_view> found;
    for (const Operation* operation : operations_of(kernel)) found.insert(operation->name);
    return found;
  };
  using Names = std::multiset<std::string_view>;
  CHECK(names("residual=1-plain") == Names{"residual"});
  CHECK(names("gradient=2-tiled") == Names{"gradient"});
  CHECK(names("pass=2-fused") == Names{"descend", "loss_and_gradient"});
  CHECK(names("gram=2-dot4") == Names{"gram"});
  CHECK(names("gram_step=3-cooperative") == Names{"gram_descend"});
  CHECK(names("unheard=1-of").size() == operations().size());
}

TEST_CASE("every operation is right on the CPU, and wrong where its result is") {
  const HostImages host = made_up(130, 6);
  const Truth truth(host, 300);
  const auto device = Device::open(kCpu);
  const ResidentImages resident(*device, host, 300);
  Workbench bench(*device, resident.view(), truth);
  for (const Operation& operation : operations()) {
    CAPTURE(std::string(operation.name));
    for (const std::string& fault : operation.faults(bench)) FAIL_CHECK(fault);
  }
  // The same on images of which one has another label, or one pixel more.
  for (const bool label : {true, false}) {
    HostImages other = host;
    if (label) {
      other.labels[77] = static_cast<std::uint8_t>((other.labels[77] + 1) % kClasses);
    } else {
      other.pixels[77 * kPixels + 400] ^= 128;
    }
    const ResidentImages wrong(*device, other, 300);
    Workbench on_wrong(*device, wrong.view(), truth);
    for (const Operation& operation : operations()) {
      const std::string name(operation.name);
      CAPTURE(name);
      CAPTURE(label);
      const bool blind = !operation.reads_pixels || name == "count_correct" ||
                         (label && (name == "scores" || name == "gradient"));
      if (!blind) CHECK_FALSE(operation.faults(on_wrong).empty());
    }
  }
}

}  // namespace mnistd::gpu::bench
