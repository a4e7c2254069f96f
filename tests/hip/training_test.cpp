// A small training through the model's own loop: losses and counts of a float64 descent, and the same weights whether or not
// it was interrupted.
#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "model/trainer.h"
#include "tests/hip/device_under_test.h"
#include "tests/model/float64_descent.h"
#include "tests/model/synthetic.h"

namespace mnistd {
namespace {

struct Rows : model::TrainObserver {
  void on_progress(const model::MetricsRow& row) override { rows.push_back(row); }
  void on_checkpoint(const model::Checkpoint&) override {}
  std::vector<model::MetricsRow> rows;
};

constexpr int kIterations = 15;

constexpr model::SolverKind kSolvers[] = {model::SolverKind::gemm, model::SolverKind::gram};

model::TrainSpec spec_of(int iterations, model::SolverKind solver = model::SolverKind::gemm) {
  model::TrainSpec spec;
  spec.solver = solver;
  spec.iterations = iterations;
  spec.learning_rate = 0.02;
  spec.seed = 99;
  return spec;
}

}  // namespace

TEST_CASE("a training on the device follows a float64 descent") {
  const auto dataset = test::synthetic_dataset(301, 97, 5);
  for (const char* kernel : {"", "residual=1-plain,gradient=1-plain"}) {
    CAPTURE(kernel);
    const auto device = gpu::open_under_test(kernel);
    const model::ResidentDataset resident(*device, dataset);
    Rows found;
    const model::TrainResult result = model::train(*device, resident, spec_of(kIterations), found, {});

    test::Float64Descent descent(dataset->train, 99);
    REQUIRE(found.rows.size() == kIterations);
    for (const model::MetricsRow& row : found.rows) {
      CAPTURE(row.iteration);
      const test::Float64Descent::Pass pass = descent.pass();
      CHECK_FALSE(!(std::fabs(row.loss - pass.loss) <= 1e-5 * pass.loss));
      CHECK(row.train_accuracy == doctest::Approx(pass.correct / 301.0));
      CHECK(row.test_accuracy == doctest::Approx(descent.correct_of(dataset->test) / 97.0));
      descent.step(0.02);
    }
    CHECK_FALSE(!(std::fabs(result.loss - descent.pass().loss) <= 1e-5 * descent.pass().loss));
    CHECK(result.train_correct == descent.pass().correct);
    CHECK(result.test_correct == descent.correct_of(dataset->test));
    CHECK(result.train_ms > 0);
    CHECK(result.loss < found.rows.front().loss);
  }
}

TEST_CASE("by the normal equations a training goes where it goes over the images") {
  const auto dataset = test::synthetic_dataset(301, 97, 5);
  const auto device = gpu::open_under_test();
  const model::ResidentDataset resident(*device, dataset);
  Rows gemm_rows, gram_rows;
  const auto gemm = model::train(*device, resident, spec_of(kIterations), gemm_rows, {});
  const auto gram =
      model::train(*device, resident, spec_of(kIterations, model::SolverKind::gram), gram_rows, {});
  REQUIRE(gram_rows.rows.size() == gemm_rows.rows.size());
  for (std::size_t i = 0; i < gram_rows.rows.size(); ++i) {
    CAPTURE(i);
    const model::MetricsRow &found = gram_rows.rows[i], &expected = gemm_rows.rows[i];
    CHECK_FALSE(!(std::fabs(found.loss - expected.loss) <= 1e-5 * expected.loss));
    CHECK(found.train_accuracy == expected.train_accuracy);
    CHECK(found.test_accuracy == expected.test_accuracy);
  }
  double worst = 0;
  for (std::size_t i = 0; i < gemm.state.weights.size(); ++i)
    worst = std::max(worst, std::fabs(static_cast<double>(gram.state.weights[i]) - gemm.state.weights[i]));
  CHECK_FALSE(!(worst <= 1e-6));
  CHECK(gram.train_correct == gemm.train_correct);
  CHECK(gram.test_correct == gemm.test_correct);
}

TEST_CASE("a training that goes on from a checkpoint ends with the same weights, bit for bit") {
  const auto dataset = test::synthetic_dataset(130, 20, 6);
  const auto device = gpu::open_under_test();
  const model::ResidentDataset resident(*device, dataset);
  Rows rows;
  for (const auto solver : kSolvers) {
    CAPTURE(model::to_string(solver));
    const model::TrainResult whole = model::train(*device, resident, spec_of(12, solver), rows, {});
    const model::TrainResult part = model::train(*device, resident, spec_of(5, solver), rows, {});
    const model::TrainResult resumed =
        model::train(*device, resident, spec_of(12, solver), rows, {}, part.state);
    CHECK(resumed.state.iteration == 12);
    CHECK(resumed.state.weights == whole.state.weights);
    CHECK(part.state.weights != whole.state.weights);
    // Where the calls to the device begin and end does not matter either.
    model::TrainSpec few_reports = spec_of(12, solver);
    few_reports.report_every = 12;
    CHECK(model::train(*device, resident, few_reports, rows, {}).state.weights == whole.state.weights);
  }
}

}  // namespace mnistd
