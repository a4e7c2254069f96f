// On the real MNIST files: the reference losses and counts, and the first test digit to the character.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "model/ascii_art.h"
#include "model/evaluation.h"
#include "model/linear.h"
#include "model/trainer.h"
#include "tests/model/mnist_directory.h"

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

TEST_CASE("300 iterations at 0.01 give the reference losses and counts") {
  const auto device = gpu::Device::open({.backend = gpu::Backend::cpu});
  const model::ResidentDataset resident(*device, mnist());
  Rows observer;
  const auto result = model::train(*device, resident, {.iterations = 300}, observer, {});
  MESSAGE("300 iterations took " << result.train_ms << " ms on " << device->info().architecture);

  const auto reference = reference_rows();
  REQUIRE(reference.size() == 31);
  REQUIRE(observer.rows.size() == 300);
  for (const auto& entry : reference) {
    const ReferenceRow& expected = entry.second;
    const auto& row = observer.rows.at(entry.first);
    CAPTURE(row.iteration);
    CHECK(std::abs(row.loss / expected.loss - 1) < 1e-5);
    CHECK(std::abs(row.train_accuracy * 60000 - expected.train_correct) <= 5.5);
    CHECK(std::abs(row.test_accuracy * 10000 - expected.test_correct) <= 5.5);
  }
  CHECK(std::abs(result.loss / 0.420517408 - 1) < 1e-5);
  CHECK(std::abs(result.train_correct - 50875) <= 5);
  CHECK(std::abs(result.test_correct - 8550) <= 5);

  // The model on the host classifies as the device does, but for what rounding may move.
  const model::LinearModel linear(result.state.weights);
  const auto begin = std::chrono::steady_clock::now();
  const auto labels = linear.labels(mnist()->test.pixels);
  const std::chrono::duration<double, std::micro> wall = std::chrono::steady_clock::now() - begin;
  MESSAGE("on the host " << wall.count() / 10000 << " us an image");
  CHECK(std::abs(model::evaluate(labels, mnist()->test.labels).correct() - result.test_correct) <= 2);
  CHECK(linear.predict(mnist()->test.image(0)).label == 7);
}

TEST_SUITE_END();
