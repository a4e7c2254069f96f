// Trains a model on a resident dataset: the loop around a solver, with reports, cancelling, and checkpoints from which
// a later run goes on to the same weights, bit for bit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "model/dataset.h"

namespace mnistd::model {

// gemm: two matrix products over all images, every iteration. gram: the same iterates by the normal equations.
enum class SolverKind { gemm, gram };
std::string_view to_string(SolverKind solver);
std::optional<SolverKind> parse_solver(std::string_view text);

inline constexpr std::uint32_t kDefaultSeed = 1234567;
inline constexpr int kMaximumIterations = 1'000'000;
inline constexpr int kMaximumReports = 1'000;  // of the default report_every

struct TrainSpec {
  int iterations = 100;         // 1..kMaximumIterations
  double learning_rate = 0.01;  // finite, ≥ 0; as given, used as float
  SolverKind solver = SolverKind::gemm;
  std::uint32_t seed = kDefaultSeed;
  int report_every = 1;  // 1..iterations
};

// The smallest report_every that gives at most kMaximumReports reports.
int default_report_every(int iterations);
// Whether iteration k (1-based) is reported: 1, the multiples of report_every, and the last.
bool is_reported(const TrainSpec& spec, int iteration);

// A reported iteration k: of the weights before update k.
struct MetricsRow {
  int iteration = 0;
  double loss = 0;
  double train_accuracy = 0;  // 0..1
  double test_accuracy = 0;   // 0..1
  double elapsed_ms = 0;  // training time up to and with iteration k, without test evaluation and checkpoints
};

// Enough to go on after `iteration` updates.
struct Checkpoint {
  int iteration = 0;
  double train_ms = 0;
  std::vector<float> weights;  // 10×785
};

// Called on the training thread; must be quick and must not throw.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_progress(const MetricsRow& row) = 0;
  virtual void on_checkpoint(const Checkpoint& checkpoint) = 0;
};

struct TrainResult {
  bool stopped =
      false;  // by the stop token, before the last iteration; then `state` is where to go on, the rest unset
  Checkpoint state;  // weights handed over
  double loss = 0;   // of these weights, as the counts
  int train_correct = 0;
  int test_correct = 0;
  double train_ms = 0;  // all iterations, also those before a resume; without test evaluation and checkpoints
};

// The loss left the finite numbers.
class Diverged : public std::runtime_error {
 public:
  Diverged(int iteration, const std::string& message) : std::runtime_error(message), iteration_(iteration) {}
  int iteration() const { return iteration_; }

 private:
  int iteration_;
};

inline constexpr std::chrono::seconds kCheckpointInterval{4};

// Runs spec.iterations updates from the seed's weights, or from `resume`. Calls the observer for each reported iteration
// and with a checkpoint each kCheckpointInterval. Stops within one iteration (or 50 ms where the device pipelines) of the
// token. Throws Diverged, gpu::DeviceError, std::invalid_argument (a resume that does not fit the spec).
TrainResult train(gpu::Device& device, const ResidentDataset& dataset, const TrainSpec& spec,
                  TrainObserver& observer, std::stop_token stop,
                  const std::optional<Checkpoint>& resume = std::nullopt);

}  // namespace mnistd::model
