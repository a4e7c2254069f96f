// On the real MNIST files: the reference losses and counts, and the first test digit to the character.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include <doctest/doctest.h>

#include "model/ascii_art.h"
#include "model/evaluation.h"
#include "model/linear.h"
#include "model/spectrum.h"
#include "model/trainer.h"
#include "tests/model/mnist_directory.h"
#include "tests/model/normal_descent.h"

using namespace mnistd;

namespace {

std::string read_reference(const std::string& name) {
  std::ifstream in(std::filesystem::path(MNISTD_REFERENCE_DIR) / name, std::ios::binary);
  REQUIRE_MESSAGE(in, name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct ReferenceRow {
  double loss = 0;
  int train_correct = 0;
  int test_correct = 0;
};

// Rows by iteration of mnist-linear-300-lr0.01.csv.
std::map<int, ReferenceRow> reference_rows() {
  std::istringstream text(read_reference("mnist-linear-300-lr0.01.csv"));
  std::map<int, ReferenceRow> rows;
  for (std::string line; std::getline(text, line);) {
    int iteration = 0;
    ReferenceRow row;
    if (std::sscanf(line.c_str(), "%d,%lf,%d,%d", &iteration, &row.loss, &row.train_correct,
                    &row.test_correct) == 4)
      rows[iteration] = row;
  }
  return rows;
}

struct Rows : model::TrainObserver {
  void on_progress(const model::MetricsRow& row) override { rows[row.iteration] = row; }
  void on_checkpoint(const model::Checkpoint&) override {}
  std::map<int, model::MetricsRow> rows;
};

const std::shared_ptr<const model::Dataset>& mnist() {
  static const auto dataset = model::load_dataset("mnist", test::mnist_directory());
  return dataset;
}

// That a training of 300 iterations at 0.01 is the reference's.
void check_300(const std::map<int, model::MetricsRow>& rows, const model::TrainResult& result) {
  const auto reference = reference_rows();
  REQUIRE(reference.size() == 31);
  for (const auto& entry : reference) {
    const ReferenceRow& expected = entry.second;
    const auto& row = rows.at(entry.first);
    CAPTURE(row.iteration);
    CHECK(std::abs(row.loss / expected.loss - 1) < 1e-5);
    CHECK(std::abs(row.train_accuracy * 60000 - expected.train_correct) <= 5.5);
    CHECK(std::abs(row.test_accuracy * 10000 - expected.test_correct) <= 5.5);
  }
  CHECK(std::abs(result.loss / 0.420517408 - 1) < 1e-5);
  CHECK(std::abs(result.train_correct - 50875) <= 5);
  CHECK(std::abs(result.test_correct - 8550) <= 5);
}

model::TrainResult train_300(const model::ResidentDataset& resident, gpu::Device& device,
                             model::SolverKind solver) {
  Rows observer;
  const model::TrainSpec spec{.iterations = 300, .solver = solver, .report_every = 10};
  const auto result = model::train(device, resident, spec, observer, {});
  MESSAGE("300 iterations of " << model::to_string(solver) << " took " << result.train_ms << " ms on "
                               << device.info().architecture);
  check_300(observer.rows, result);
  return result;
}

}  // namespace

TEST_SUITE_BEGIN("mnist");

TEST_CASE("the real files: counts, and the labels that everybody knows") {
  const auto begin = std::chrono::steady_clock::now();
  const auto dataset = model::load_dataset("mnist", test::mnist_directory());
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  MESSAGE("loading took " << wall.count() << " ms");
  CHECK(dataset->train.count() == 60000);
  CHECK(dataset->test.count() == 10000);
  CHECK(std::vector<int>(dataset->train.labels.begin(), dataset->train.labels.begin() + 5) ==
        std::vector<int>{5, 0, 4, 1, 9});
  CHECK(std::vector<int>(dataset->test.labels.begin(), dataset->test.labels.begin() + 5) ==
        std::vector<int>{7, 2, 1, 0, 4});
}

TEST_CASE("the first test digit is drawn as the original drew it") {
  const auto& dataset = *mnist();
  const model::AsciiCaption caption{.dataset = "test",
                                    .truth = dataset.test.labels[0],
                                    .index = 0,
                                    .count = dataset.test.count(),
                                    .prediction = 7};
  CHECK(model::ascii_digit(dataset.test.image(0), caption) == read_reference("digit-test-0.txt"));
}

TEST_CASE("300 iterations at 0.01 give the reference losses and counts, by either solver") {
  const auto device = gpu::Device::open({.backend = gpu::Backend::cpu});
  const model::ResidentDataset resident(*device, mnist());
  const auto result = train_300(resident, *device, model::SolverKind::gemm);
  const auto begin_gram = std::chrono::steady_clock::now();
  resident.gram();
  const std::chrono::duration<double, std::milli> gram_wall = std::chrono::steady_clock::now() - begin_gram;
  MESSAGE("the Gram took " << gram_wall.count() << " ms");
  const auto by_gram = train_300(resident, *device, model::SolverKind::gram);
  double worst = 0;
  for (int i = 0; i < 7850; ++i)
    worst =
        std::max(worst, std::abs(static_cast<double>(result.state.weights[i]) - by_gram.state.weights[i]));
  model::Spectrum spectrum;
  {
    const auto begin = std::chrono::steady_clock::now();
    spectrum = model::compute_spectrum(*resident.gram());
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    MESSAGE("the spectrum took " << wall.count() << " ms");
  }
  // GFX906.md has them, found by another program.
  CHECK(std::abs(1 / spectrum.stability_limit() - 39.0126174) < 1e-7);
  CHECK(std::abs(spectrum.stability_limit() - 0.0256327) < 1e-7);
  // The closed form against a descent in float64: at the rate of the trainings, close to the limit, and above it.
  for (const double rate : {static_cast<double>(0.01F), 0.0256, 0.03}) {
    CAPTURE(rate);
    const model::ClosedForm form(spectrum, model::kDefaultSeed, rate);
    test::NormalDescent descent(*resident.gram(), model::kDefaultSeed);
    double worst_loss = 0;
    for (int k = 0; k <= 300; ++k) {
      worst_loss = std::max(worst_loss, std::abs(form.loss(k) / descent.loss() - 1));
      if (k < 300) descent.step(rate);
    }
    MESSAGE("rate " << rate << ": closed form and float64 descent differ by " << worst_loss);
    CHECK(worst_loss <= 1e-9);
    double worst_weight = 0, size = 0;
    const auto weights = form.weights(300);
    for (int i = 0; i < 7850; ++i) {
      worst_weight = std::max(worst_weight, std::abs(weights[i] - descent.weights()[i]));
      size = std::max(size, std::abs(weights[i]));
    }
    CHECK(worst_weight <= 1e-9 * size);
  }
  {
    const model::ClosedForm form(spectrum, model::kDefaultSeed, 0.01F);
    for (const auto& entry : reference_rows())
      CHECK(std::abs(form.loss(entry.first - 1) / entry.second.loss - 1) < 1e-6);
    CHECK(std::abs(form.loss(300) / by_gram.loss - 1) < 1e-5);
    CHECK(std::abs(form.loss(300) / result.loss - 1) < 1e-5);
    double worst_weight = 0;
    const auto weights = form.weights(300);
    for (int i = 0; i < 7850; ++i)
      worst_weight = std::max(worst_weight, std::abs(weights[i] - result.state.weights[i]));
    MESSAGE("closed form and gemm weights differ by at most " << worst_weight);
    CHECK(worst_weight <= 1e-6);
  }
  MESSAGE("the solvers' weights differ by at most " << worst);
  CHECK(worst <= 1e-6);

  // The model on the host classifies as the device does, but for what rounding may move.
  const model::LinearModel linear(result.state.weights);
  const auto begin = std::chrono::steady_clock::now();
  const auto labels = linear.labels(mnist()->test.pixels);
  const std::chrono::duration<double, std::micro> wall = std::chrono::steady_clock::now() - begin;
  MESSAGE("on the host " << wall.count() / 10000 << " us an image");
  CHECK(std::abs(model::evaluate(labels, mnist()->test.labels).correct() - result.test_correct) <= 2);
  CHECK(linear.predict(mnist()->test.image(0)).label == 7);
}

TEST_CASE("gemm, gram and the closed form agree at random rates below the limit, iterations and seeds") {
  const auto device = gpu::Device::open({.backend = gpu::Backend::cpu});
  const model::ResidentDataset resident(*device, mnist());
  const model::Spectrum spectrum = model::compute_spectrum(*resident.gram());
  std::mt19937 random(2026);
  const auto uniform = [&random] { return random() / 4294967296.0; };
  for (int round = 0; round < 4; ++round) {
    model::TrainSpec spec;
    spec.learning_rate = spectrum.stability_limit() * uniform();
    spec.iterations = 20 + static_cast<int>(uniform() * 80);
    spec.seed = random();
    spec.report_every = 7;
    CAPTURE(spec.learning_rate);
    CAPTURE(spec.iterations);
    CAPTURE(spec.seed);
    const model::ClosedForm form(spectrum, spec.seed, static_cast<float>(spec.learning_rate));
    const auto expected = form.weights(spec.iterations);
    for (const auto solver : {model::SolverKind::gemm, model::SolverKind::gram}) {
      CAPTURE(model::to_string(solver));
      spec.solver = solver;
      Rows observer;
      const auto result = model::train(*device, resident, spec, observer, {});
      for (const auto& entry : observer.rows)
        CHECK(std::abs(entry.second.loss / form.loss(entry.first - 1) - 1) <= 1e-5);
      CHECK(std::abs(result.loss / form.loss(spec.iterations) - 1) <= 1e-5);
      double worst = 0;
      for (int i = 0; i < 7850; ++i) worst = std::max(worst, std::abs(expected[i] - result.state.weights[i]));
      CHECK(worst <= 1e-6);
    }
  }
}

TEST_SUITE_END();
