// A small training through the model's own loop: losses and counts of a float64 descent, and the same weights whether or not
// it was interrupted.
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

model::TrainSpec spec_of(int iterations) {
  model::TrainSpec spec;
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

TEST_CASE("a training that goes on from a checkpoint ends with the same weights, bit for bit") {
  const auto dataset = test::synthetic_dataset(130, 20, 6);
  const auto device = gpu::open_under_test();
  const model::ResidentDataset resident(*device, dataset);
  Rows rows;
  const model::TrainResult whole = model::train(*device, resident, spec_of(12), rows, {});
  const model::TrainResult part = model::train(*device, resident, spec_of(5), rows, {});
  const model::TrainResult resumed = model::train(*device, resident, spec_of(12), rows, {}, part.state);
  CHECK(resumed.state.iteration == 12);
  CHECK(resumed.state.weights == whole.state.weights);
  CHECK(part.state.weights != whole.state.weights);
}

}  // namespace mnistd
