#include "model/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "model/dataset.h"
#include "model/linear.h"
#include "model/sealed.h"
#include "model/trainer.h"
#include "tests/model/contains.h"
#include "tests/model/float64_descent.h"
#include "tests/model/normal_descent.h"
#include "tests/model/synthetic.h"

using namespace mnistd;
using test::Contains;

namespace {

const std::string kDigest = "0123456789abcdef";

std::unique_ptr<gpu::Device> cpu_device() {
  return gpu::Device::open({.backend = gpu::Backend::cpu, .threads = 2});
}

// Images with what makes eigenvalues vanish: pixels that no image uses, pixels that are equal in all, images twice.
std::shared_ptr<const model::Dataset> singular_dataset(int images, std::uint32_t seed) {
  auto dataset = std::make_shared<model::Dataset>(*test::synthetic_dataset(images, 20, seed));
  model::Split& train = dataset->train;
  for (int i = 0; i < images; ++i) {
    std::uint8_t* const pixels = train.pixels.data() + 784 * i;
    for (int p = 0; p < 60; ++p) pixels[p] = 0;
    for (int p = 100; p < 130; ++p) pixels[p] = pixels[99];
    if (i % 3 == 2) std::copy_n(pixels - 784, 784, pixels);
  }
  return dataset;
}

struct Room {
  explicit Room(std::shared_ptr<const model::Dataset> dataset)
      : host(std::move(dataset)),
        device(cpu_device()),
        resident(*device, host),
        gram(*resident.gram()),
        spectrum(model::compute_spectrum(gram)) {}
  std::shared_ptr<const model::Dataset> host;
  std::unique_ptr<gpu::Device> device;
  model::ResidentDataset resident;
  const model::Gram gram;
  const model::Spectrum spectrum;
};

struct Rows : model::TrainObserver {
  void on_progress(const model::MetricsRow& row) override { rows.push_back(row); }
  void on_checkpoint(const model::Checkpoint&) override {}
  std::vector<model::MetricsRow> rows;
};

template <class Numbers, class Others>
double largest_difference(const Numbers& a, const Others& b) {
  double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return worst;
}

}  // namespace

TEST_CASE("the initial weights on the host are the device's, to the bit") {
  const auto device = cpu_device();
  for (const std::uint32_t seed : {0U, 1U, 1234567U, 4294967295U}) {
    gpu::Buffer<float> weights(*device, gpu::kWeights);
    device->ops().initialise(weights.data(), seed);
    CHECK(weights.to_vector() == model::initial_weights(seed));
  }
}

TEST_CASE("a spectrum is that of the products: G v = λ v, orthonormal, the trace kept") {
  const Room room(test::synthetic_dataset(150, 5, 3));
  const auto& [images, values, vectors, class_sums] = room.spectrum;
  CHECK(images == 150);
  REQUIRE(values.size() == 785);
  CHECK(std::ranges::is_sorted(values));
  CHECK(values.front() >= 0);
  const auto products = model::normal_products(room.gram);
  const auto targets = model::normal_class_sums(room.gram);
  double trace = 0, sum = 0, worst_pair = 0, worst_length = 0, worst_target = 0;
  for (int a = 0; a < 785; ++a) trace += products[785 * a + a];
  for (const double value : values) sum += value;
  CHECK(std::abs(sum / trace - 1) < 1e-12);
  for (int j = 0; j < 785; j += 8) {
    const double* const v = vectors.data() + 785 * j;
    const double* const next = vectors.data() + 785 * ((j + 1) % 785);
    double length = 0, angle = 0;
    for (int a = 0; a < 785; ++a) {
      double product = 0;
      for (int b = 0; b < 785; ++b) product += products[785 * a + b] * v[b];
      worst_pair = std::max(worst_pair, std::abs(product - values[j] * v[a]));
      length += v[a] * v[a];
      angle += v[a] * next[a];
    }
    worst_length = std::max({worst_length, std::abs(length - 1), std::abs(angle)});
    for (int c = 0; c < 10; ++c) {
      double target = 0;
      for (int a = 0; a < 785; ++a) target += targets[785 * c + a] * v[a];
      worst_target = std::max(worst_target, std::abs(target - class_sums[785 * c + j]));
    }
  }
  CHECK(worst_pair < 1e-12 * values.back());
  CHECK(worst_length < 1e-12);
  CHECK(worst_target < 1e-13);
}

TEST_CASE("the closed form is the descent, iterate by iterate, also where eigenvalues vanish") {
  std::mt19937 random(17);
  for (const auto& dataset :
       {test::synthetic_dataset(1, 3, 1), test::synthetic_dataset(900, 3, 2), singular_dataset(90, 3)}) {
    const Room room(dataset);
    const double limit = room.spectrum.stability_limit();
    // Below, at and above the limit, and where q is 0 and changes its sign.
    for (const double share : {0.01, 0.5, 0.73, 0.999, 1.0, 1.01}) {
      const double rate = share * limit;
      const std::uint32_t seed = random();
      const model::ClosedForm form(room.spectrum, seed, rate);
      test::NormalDescent descent(room.gram, seed);
      CAPTURE(dataset->train.count());
      CAPTURE(share);
      for (int k = 0; k <= 60; ++k) {
        CAPTURE(k);
        const double loss = descent.loss();
        CHECK(std::abs(form.loss(k) - loss) <= 1e-9 * loss + 1e-13);
        if (k % 15 <= 1) CHECK(largest_difference(form.weights(k), descent.weights()) < 1e-12 * (1 + loss));
        descent.step(rate);
      }
    }
  }
}

TEST_CASE("the descent by the normal equations is the one over the images") {
  const auto dataset = singular_dataset(40, 6);
  const Room room(dataset);
  const double rate = 0.7 * room.spectrum.stability_limit();
  test::Float64Descent images(dataset->train, 5);
  test::NormalDescent normal(room.gram, 5);
  for (int k = 0; k < 10; ++k) {
    // The one begins with weights of double precision, the other with those of a training.
    CHECK(std::abs(images.pass().loss / normal.loss() - 1) < 1e-7);
    images.step(rate);
    normal.step(rate);
  }
}

TEST_CASE("gemm, gram and the closed form agree at random rates, iterations and seeds") {
  std::mt19937 random(41);
  const auto uniform = [&random] { return random() / 4294967296.0; };
  for (int round = 0; round < 12; ++round) {
    const Room room(round % 2 == 0 ? test::synthetic_dataset(60 + 31 * round, 30, 100 + round)
                                   : singular_dataset(60 + 31 * round, 100 + round));
    model::TrainSpec spec;
    spec.learning_rate = room.spectrum.stability_limit() * uniform();
    spec.iterations = 1 + static_cast<int>(uniform() * 80);
    spec.seed = random();
    CAPTURE(round);
    CAPTURE(spec.learning_rate);
    CAPTURE(spec.iterations);
    const model::ClosedForm form(room.spectrum, spec.seed, static_cast<float>(spec.learning_rate));
    const auto expected = form.weights(spec.iterations);
    for (const auto solver : {model::SolverKind::gemm, model::SolverKind::gram}) {
      CAPTURE(model::to_string(solver));
      spec.solver = solver;
      Rows rows;
      const auto result = model::train(*room.device, room.resident, spec, rows, {});
      CHECK(largest_difference(result.state.weights, expected) < 1e-6);
      double worst = 0;
      for (const auto& row : rows.rows)
        worst = std::max(worst, std::abs(row.loss - form.loss(row.iteration - 1)));
      // Losses are sums of the order of 1 that cancel: 1e-5 of what is left where enough is.
      CHECK(worst < 3e-6);
      CHECK(std::abs(result.loss - form.loss(spec.iterations)) < 3e-6);
    }
  }
}

TEST_CASE("a curve holds for a million iterations, and beyond the finite numbers it is infinite") {
  const Room room(singular_dataset(300, 9));
  const double limit = room.spectrum.stability_limit();
  const model::ClosedForm half(room.spectrum, 1, limit / 2);
  double before = half.loss(0);
  for (int k = 1; k <= 1'000'000; k *= 10) {
    CHECK(std::isfinite(half.loss(k)));
    CHECK(half.loss(k) <= before * (1 + 1e-14));
    before = half.loss(k);
  }
  for (const double weight : half.weights(1'000'000)) CHECK(std::isfinite(weight));
  const model::ClosedForm above(room.spectrum, 1, limit * 1.5);
  CHECK(std::isfinite(above.loss(100)));
  CHECK(above.loss(100) > above.loss(99));
  CHECK(above.loss(1'000'000) == std::numeric_limits<double>::infinity());
  for (const double share : {0.1, 0.9, 1.02}) {
    const model::ClosedForm form(room.spectrum, 1, limit * share);
    const auto losses = form.losses(6, 7, 1000);
    REQUIRE(losses.size() == 1000);
    for (int i = 0; i < 1000; ++i) CHECK(losses[i] == doctest::Approx(form.loss(6 + 7 * i)).epsilon(1e-11));
  }
  const model::ClosedForm enormous(room.spectrum, 1, std::numeric_limits<float>::max());
  CHECK(std::isfinite(enormous.losses(0, 1, 10).front()));
  for (const double loss : enormous.losses(99, 100, 10))
    CHECK(loss == std::numeric_limits<double>::infinity());
  const model::ClosedForm still(room.spectrum, 1, 0);
  CHECK(still.loss(1'000'000) == still.loss(0));
}

TEST_CASE("a spectrum goes through bytes and comes back the same; damaged ones are told") {
  const Room room(test::synthetic_dataset(30, 5, 4));
  const std::string bytes = model::to_bytes(room.spectrum, kDigest);
  CHECK(bytes.size() <= model::kMaximumSpectrumBytes);
  const model::Spectrum back = model::spectrum_from_bytes(bytes, kDigest);
  CHECK(back.images == 30);
  CHECK(back.eigenvalues == room.spectrum.eigenvalues);
  CHECK(back.eigenvectors == room.spectrum.eigenvectors);
  CHECK(back.class_sums == room.spectrum.class_sums);

  CHECK_THROWS_AS(model::spectrum_from_bytes(bytes, "0123456789abcde0"), model::SealError);
  CHECK_THROWS_AS(model::gram_from_bytes(bytes, kDigest), model::SealError);
  CHECK_THROWS_AS(model::spectrum_from_bytes(model::to_bytes(room.gram, kDigest), kDigest), model::SealError);
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    std::string flipped = bytes;
    flipped[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    CHECK_THROWS_AS(model::spectrum_from_bytes(flipped, kDigest), model::SealError);
    CHECK_THROWS_AS(model::spectrum_from_bytes(bytes.substr(0, random() % bytes.size()), kDigest),
                    model::SealError);
  }
  model::Spectrum wrong = room.spectrum;
  wrong.eigenvalues[3] = std::nan("");
  CHECK_THROWS_AS(model::spectrum_from_bytes(model::to_bytes(wrong, kDigest), kDigest), model::SealError);
}
