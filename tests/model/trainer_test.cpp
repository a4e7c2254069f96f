#include "model/trainer.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

#include "tests/model/contains.h"
#include "tests/model/float64_descent.h"
#include "tests/model/pipelined_device.h"
#include "tests/model/synthetic.h"

using namespace mnistd;
using test::Contains;

namespace {

// Keeps all that it is told, and may stop the run at a row or at the first checkpoint.
class Recorder : public model::TrainObserver {
 public:
  void on_progress(const model::MetricsRow& row) override {
    rows.push_back(row);
    if (row.iteration == stop_at) stop.request_stop();
  }
  void on_checkpoint(const model::Checkpoint& checkpoint) override {
    checkpoints.push_back(checkpoint);
    if (stop_at_checkpoint) stop.request_stop();
  }
  std::vector<int> iterations() const {
    std::vector<int> list;
    for (const auto& row : rows) list.push_back(row.iteration);
    return list;
  }

  std::vector<model::MetricsRow> rows;
  std::vector<model::Checkpoint> checkpoints;
  std::stop_source stop;
  int stop_at = 0;
  bool stop_at_checkpoint = false;
};

std::unique_ptr<gpu::Device> cpu_device(bool reference = false) {
  gpu::DeviceOptions options;
  options.backend = gpu::Backend::cpu;
  options.reference = reference;
  options.threads = 2;
  return gpu::Device::open(options);
}

// A score, a float near 1, is off by a few 1e-8; so is the residual, of which the loss is the square: ten of 2e-7 add up
// to 2·√loss·√10·2e-7.
double loss_tolerance(double loss) { return 1.3e-6 * std::sqrt(loss) + 1e-12; }
// By the normal equations the loss is 1 and two sums of the order of 1, of floats that are off by 6e-8.
double loss_tolerance(double loss, model::SolverKind solver) {
  return solver == model::SolverKind::gram ? 2e-6 : loss_tolerance(loss);
}

constexpr model::SolverKind kSolvers[] = {model::SolverKind::gemm, model::SolverKind::gram};

struct Room {
  explicit Room(int train_count, int test_count = 50, std::unique_ptr<gpu::Device> opened = cpu_device())
      : host(test::synthetic_dataset(train_count, test_count, 11)),
        device(std::move(opened)),
        resident(*device, host) {}

  model::TrainResult train(const model::TrainSpec& spec, Recorder& recorder,
                           const std::optional<model::Checkpoint>& resume = std::nullopt) {
    return model::train(*device, resident, spec, recorder, recorder.stop.get_token(), resume);
  }
  model::TrainResult train(const model::TrainSpec& spec) {
    Recorder recorder;
    return train(spec, recorder);
  }

  std::shared_ptr<const model::Dataset> host;
  std::unique_ptr<gpu::Device> device;
  model::ResidentDataset resident;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool same_rows(const std::vector<model::MetricsRow>& a, const std::vector<model::MetricsRow>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = a[i].iteration == b[i].iteration && a[i].loss == b[i].loss &&
           a[i].train_accuracy == b[i].train_accuracy && a[i].test_accuracy == b[i].test_accuracy;
  return same;
}

}  // namespace

TEST_CASE("training is gradient descent: every row and the weights against float64") {
  for (const int images : {1, 2, 63, 64, 65, 333}) {
    for (const auto& [solver, reference] : {std::pair{model::SolverKind::gemm, true},
                                            {model::SolverKind::gemm, false},
                                            {model::SolverKind::gram, true},
                                            {model::SolverKind::gram, false}}) {
      CAPTURE(images);
      CAPTURE(reference);
      CAPTURE(model::to_string(solver));
      Room room(images, 77, cpu_device(reference));
      const model::TrainSpec spec{.iterations = 40, .learning_rate = 0.008, .solver = solver, .seed = 99};
      Recorder recorder;
      const auto result = room.train(spec, recorder);

      test::Float64Descent descent(room.host->train, 99);
      REQUIRE(recorder.rows.size() == 40);
      for (const auto& row : recorder.rows) {
        const auto expected = descent.pass();
        CAPTURE(row.iteration);
        CHECK(std::abs(row.loss - expected.loss) <= loss_tolerance(expected.loss, solver));
        CHECK(row.train_accuracy == static_cast<double>(expected.correct) / images);
        CHECK(row.test_accuracy == descent.correct_of(room.host->test) / 77.0);
        descent.step(spec.learning_rate);
      }
      const auto last = descent.pass();
      CHECK(!result.stopped);
      CHECK(std::abs(result.loss - last.loss) <= loss_tolerance(last.loss, solver));
      CHECK(result.train_correct == last.correct);
      CHECK(result.test_correct == descent.correct_of(room.host->test));
      CHECK(result.state.iteration == 40);
      double worst = 0;
      for (int i = 0; i < 7850; ++i)
        worst = std::max(worst, std::abs(result.state.weights[i] - descent.weights()[i]));
      CHECK(worst < 2e-7);
    }
  }
}

TEST_CASE("reports are of 1, the multiples and the last iteration") {
  Room room(5);
  const auto iterations = [&](int count, int every) {
    Recorder recorder;
    room.train({.iterations = count, .report_every = every}, recorder);
    return recorder.iterations();
  };
  CHECK(iterations(1, 1) == std::vector<int>{1});
  CHECK(iterations(4, 1) == std::vector<int>{1, 2, 3, 4});
  CHECK(iterations(10, 3) == std::vector<int>{1, 3, 6, 9, 10});
  CHECK(iterations(9, 3) == std::vector<int>{1, 3, 6, 9});
  CHECK(iterations(7, 7) == std::vector<int>{1, 7});
}

TEST_CASE("the default report_every is the smallest that gives at most 1000 reports") {
  CHECK(model::default_report_every(1) == 1);
  CHECK(model::default_report_every(300) == 1);
  CHECK(model::default_report_every(1000) == 1);
  CHECK(model::default_report_every(1001) == 2);
  CHECK(model::default_report_every(2000) == 3);
  const auto reports = [](int iterations, int every) {
    const model::TrainSpec spec{.iterations = iterations, .report_every = every};
    int count = 0;
    for (int k = 1; k <= iterations; ++k) count += model::is_reported(spec, k) ? 1 : 0;
    return count;
  };
  for (const int iterations : {1998, 1999, 2000, 2001, 2997, 3000, 99'900, 123'457, 1'000'000}) {
    const int every = model::default_report_every(iterations);
    CAPTURE(iterations);
    CHECK(reports(iterations, every) <= 1000);
    CHECK(reports(iterations, every - 1) > 1000);
  }
}

TEST_CASE("a stop ends the run before the next report, and a resume goes on to the same bits") {
  Room room(120);
  for (const auto& [solver, every] : {std::pair{model::SolverKind::gemm, 1},
                                      {model::SolverKind::gemm, 4},
                                      {model::SolverKind::gram, 1},
                                      {model::SolverKind::gram, 4}}) {
    const model::TrainSpec spec{.iterations = 23, .solver = solver, .report_every = every};
    Recorder whole;
    const auto expected = room.train(spec, whole);
    for (const int cut : every == 1 ? std::vector<int>{1, 2, 11, 22} : std::vector<int>{1, 4, 12, 20}) {
      CAPTURE(cut);
      Recorder recorder;
      recorder.stop_at = cut;
      const auto stopped = room.train(spec, recorder);
      CHECK(stopped.stopped);
      // A chunk, however short, runs up to the next report at most.
      CHECK(stopped.state.iteration >= cut);
      CHECK(stopped.state.iteration < cut + every);
      CHECK(recorder.rows.back().iteration == cut);

      Recorder rest;
      const auto resumed = room.train(spec, rest, stopped.state);
      CHECK(!resumed.stopped);
      CHECK(same_bits(resumed.state.weights, expected.state.weights));
      CHECK(resumed.loss == expected.loss);
      CHECK(resumed.test_correct == expected.test_correct);
      CHECK(resumed.train_ms > stopped.state.train_ms);
      auto rows = recorder.rows;
      rows.insert(rows.end(), rest.rows.begin(), rest.rows.end());
      CHECK(same_rows(rows, whole.rows));
    }
  }
}

TEST_CASE("a stop that was requested before is obeyed before the first iteration") {
  Room room(10);
  Recorder recorder;
  recorder.stop.request_stop();
  const auto result = room.train({}, recorder);
  CHECK(result.stopped);
  CHECK(result.state.iteration == 0);
  CHECK(recorder.rows.empty());
  const auto initial = room.train({.iterations = 1, .learning_rate = 0}).state.weights;
  CHECK(same_bits(result.state.weights, initial));
}

TEST_CASE("a stop after the last iteration leaves a whole result; so does a resume from there") {
  Room room(10);
  const model::TrainSpec spec{.iterations = 6};
  Recorder recorder;
  recorder.stop_at = 6;
  const auto result = room.train(spec, recorder);
  CHECK(!result.stopped);
  Recorder none;
  const auto again = room.train(spec, none, result.state);
  CHECK(none.rows.empty());
  CHECK(again.loss == result.loss);
  CHECK(same_bits(again.state.weights, result.state.weights));
}

TEST_CASE("a device that pipelines gives the same rows and bits") {
  Room plain(90);
  auto opened = std::make_unique<test::PipelinedDevice>(cpu_device(), 16);
  opened->pretend_update_takes(0.1);
  const test::PipelinedDevice& device = *opened;
  Room pipelined(90, 50, std::move(opened));
  for (const auto solver : kSolvers) {
    for (const int every : {1, 5, 64}) {
      const model::TrainSpec spec{.iterations = 100, .solver = solver, .report_every = every};
      Recorder expected, recorder;
      const auto a = plain.train(spec, expected);
      const auto b = pipelined.train(spec, recorder);
      CHECK(same_rows(recorder.rows, expected.rows));
      CHECK(same_bits(a.state.weights, b.state.weights));
      CHECK(a.loss == b.loss);
    }
    // The gram solver's chunks are not bound by the depth: here by the second report.
    CHECK(device.most_between_waits() == (solver == model::SolverKind::gemm ? 16 : 62));
  }

  // Where it diverges is the iteration and not the chunk.
  for (const auto solver : kSolvers) {
    const model::TrainSpec diverging{
        .iterations = 500, .learning_rate = 1, .solver = solver, .report_every = 500};
    int at = 0;
    try {
      plain.train(diverging);
    } catch (const model::Diverged& error) {
      at = error.iteration();
    }
    CHECK(at > 1);
    try {
      pipelined.train(diverging);
      FAIL("did not diverge");
    } catch (const model::Diverged& error) {
      CHECK(error.iteration() == at);
    }
  }
}

TEST_CASE(
    "the gram solver takes hundreds of iterations at once where they are short, and few where they are "
    "long") {
  for (const auto& [milliseconds, most] : {std::pair{0.002, 198}, {0.25, 100}, {10.0, 2}, {100.0, 1}}) {
    auto opened = std::make_unique<test::PipelinedDevice>(cpu_device(), 1);
    opened->pretend_update_takes(milliseconds);
    const test::PipelinedDevice& device = *opened;
    Room room(4, 4, std::move(opened));
    const auto result =
        room.train({.iterations = 200, .solver = model::SolverKind::gram, .report_every = 200});
    CHECK(device.most_between_waits() == most);
    CHECK(result.train_ms == doctest::Approx(200 * milliseconds));
  }
}

TEST_CASE("where iterations are long, fewer are queued, so that a stop takes no more than 50 ms") {
  for (const auto& [milliseconds, most] : {std::pair{0.5, 16}, {2.0, 12}, {10.0, 2}, {100.0, 1}}) {
    auto opened = std::make_unique<test::PipelinedDevice>(cpu_device(), 16);
    opened->pretend_update_takes(milliseconds);
    const test::PipelinedDevice& device = *opened;
    Room room(4, 4, std::move(opened));
    const auto result = room.train({.iterations = 100, .report_every = 100});
    CHECK(device.most_between_waits() == most);
    CHECK(result.train_ms == doctest::Approx(100 * milliseconds));
  }
}

TEST_CASE("a learning rate of 1 diverges where float64 leaves the range of float, and says so") {
  Room room(200);
  Recorder recorder;
  int named = 0;
  std::string message;
  try {
    room.train({.iterations = 1000, .learning_rate = 1}, recorder);
    FAIL("did not diverge");
  } catch (const model::Diverged& error) {
    named = error.iteration();
    message = error.what();
  }
  CHECK(message == Contains("at iteration " + std::to_string(named) + " with learning rate 1;"));
  CHECK(message == Contains("use a smaller learning rate"));
  REQUIRE(recorder.rows.size() == static_cast<std::size_t>(named - 1));

  test::Float64Descent descent(room.host->train, model::kDefaultSeed);
  int first_beyond = 0;
  for (int k = 1; first_beyond == 0; ++k) {
    const auto pass = descent.pass();
    if (pass.largest_residual > std::numeric_limits<float>::max()) first_beyond = k;
    if (k <= static_cast<int>(recorder.rows.size()))
      CHECK(std::abs(recorder.rows[k - 1].loss / pass.loss - 1) < 1e-3);
    descent.step(1);
  }
  // Sums over the images may leave the range a little before the residuals themselves do.
  CHECK(named <= first_beyond);
  CHECK(named >= first_beyond - 2);
}

TEST_CASE("weights that leave the finite numbers with the last update are not handed over") {
  Room room(200);
  for (const auto solver : kSolvers) {
    model::TrainSpec spec{.iterations = 1000, .learning_rate = 1, .solver = solver};
    int named = 0;
    try {
      room.train(spec);
    } catch (const model::Diverged& error) {
      named = error.iteration();
    }
    REQUIRE(named > 1);
    spec.iterations = named - 1;
    CHECK_THROWS_AS(room.train(spec), model::Diverged);
    spec.iterations = named - 2;
    CHECK(std::isfinite(room.train(spec).loss));
    CHECK_THROWS_AS(room.train({.iterations = 5, .learning_rate = 1e300, .solver = solver}), model::Diverged);
  }
}

TEST_CASE("a learning rate of 0 is legal and changes nothing") {
  Room room(30);
  for (const auto solver : kSolvers) {
    Recorder recorder;
    const auto result =
        room.train({.iterations = 5, .learning_rate = 0, .solver = solver, .seed = 4}, recorder);
    for (const auto& row : recorder.rows) CHECK(row.loss == recorder.rows.front().loss);
    CHECK(result.loss == recorder.rows.front().loss);
    const test::Float64Descent initial(room.host->train, 4);
    for (int i = 0; i < 7850; ++i) CHECK(result.state.weights[i] == static_cast<float>(initial.weights()[i]));
  }
}

TEST_CASE("the result is of the weights handed over") {
  Room room(80);
  for (const auto solver : kSolvers) {
    const auto result = room.train({.iterations = 12, .solver = solver});
    Recorder longer;
    room.train({.iterations = 13, .solver = solver}, longer);
    CHECK(result.loss == longer.rows.back().loss);
    CHECK(result.train_correct == std::lround(longer.rows.back().train_accuracy * 80));
  }
}

TEST_CASE("training time grows, and leaves evaluation of the test split out") {
  auto device = std::make_unique<test::PipelinedDevice>(cpu_device(), 1);
  device->delay_count_correct(std::chrono::milliseconds(30));
  Room room(20, 50, std::move(device));
  {
    // The gram solver counts both splits at every report; neither is in the time.
    Recorder slow;
    const auto begin = std::chrono::steady_clock::now();
    const auto result = room.train({.iterations = 20, .solver = model::SolverKind::gram}, slow);
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    CHECK(wall.count() - result.train_ms > 20 * 60);
  }
  Recorder recorder;
  const auto begin = std::chrono::steady_clock::now();
  const auto result = room.train({.iterations = 20}, recorder);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  for (std::size_t i = 1; i < recorder.rows.size(); ++i)
    CHECK(recorder.rows[i].elapsed_ms > recorder.rows[i - 1].elapsed_ms);
  CHECK(recorder.rows.front().elapsed_ms > 0);
  CHECK(result.train_ms >= recorder.rows.back().elapsed_ms);
  CHECK(result.state.train_ms == result.train_ms);
  CHECK(wall.count() - result.train_ms > 20 * 30);
}

TEST_CASE("checkpoints come by time, and a run goes on from one to the same bits") {
  Room room(500);
  model::TrainSpec spec{.iterations = model::kMaximumIterations, .report_every = model::kMaximumIterations};
  Recorder recorder;
  recorder.stop_at_checkpoint = true;
  const auto begin = std::chrono::steady_clock::now();
  const auto stopped = room.train(spec, recorder);
  const auto wall = std::chrono::steady_clock::now() - begin;
  REQUIRE(stopped.stopped);
  REQUIRE(recorder.checkpoints.size() == 1);
  CHECK(wall >= model::kCheckpointInterval);
  CHECK(wall < model::kCheckpointInterval + std::chrono::seconds(1));
  const auto& checkpoint = recorder.checkpoints.front();
  CHECK(checkpoint.iteration == stopped.state.iteration);
  CHECK(checkpoint.iteration > 1);
  CHECK(checkpoint.train_ms > 0);
  CHECK(checkpoint.train_ms < 4500);

  spec.iterations = spec.report_every = checkpoint.iteration + 3;
  Recorder rest;
  const auto resumed = room.train(spec, rest, checkpoint);
  CHECK(rest.iterations() == std::vector<int>{spec.iterations});
  CHECK(same_bits(resumed.state.weights, room.train(spec).state.weights));
}

TEST_CASE("a spec or a checkpoint that makes no sense") {
  Room room(3);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(room.train({.iterations = 0}), std::invalid_argument);
  CHECK_THROWS_AS(room.train({.iterations = 1'000'001}), std::invalid_argument);
  CHECK_THROWS_AS(room.train({.learning_rate = -0.1}), std::invalid_argument);
  CHECK_THROWS_AS(room.train({.learning_rate = infinity}), std::invalid_argument);
  CHECK_THROWS_AS(room.train({.learning_rate = std::nan("")}), std::invalid_argument);
  CHECK_THROWS_AS(room.train({.report_every = 0}), std::invalid_argument);
  CHECK_THROWS_AS(room.train({.iterations = 5, .report_every = 6}), std::invalid_argument);
  Recorder recorder;
  const std::vector<float> weights(7850);
  CHECK_THROWS_AS(room.train({.iterations = 5}, recorder, model::Checkpoint{6, 0, weights}),
                  std::invalid_argument);
  CHECK_THROWS_AS(room.train({.iterations = 5}, recorder, model::Checkpoint{-1, 0, weights}),
                  std::invalid_argument);
  CHECK_THROWS_AS(room.train({.iterations = 5}, recorder, model::Checkpoint{2, 0, {1, 2}}),
                  std::invalid_argument);
  CHECK_THROWS_AS(room.train({.iterations = 5}, recorder, model::Checkpoint{2, -1, weights}),
                  std::invalid_argument);
}

TEST_CASE("solver names") {
  CHECK(model::to_string(model::SolverKind::gemm) == "gemm");
  CHECK(model::parse_solver("gemm") == model::SolverKind::gemm);
  CHECK(model::to_string(model::SolverKind::gram) == "gram");
  CHECK(model::parse_solver("gram") == model::SolverKind::gram);
  CHECK(!model::parse_solver("Gemm"));
}
