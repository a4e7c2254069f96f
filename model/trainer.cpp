// How training runs.
//
// The loop works in chunks: a row of iterations that is put on the device's stream at once, after which the host waits
// and reads the statistics, one slot of a device buffer an iteration. Waiting after each would leave a device idle between
// two of them, and an iteration of the gram solver is a small part of a launch. So a chunk holds as many as the solver takes
// in one call, as run in about kChunkTime (the stop token is looked at between chunks), and none after the next report: a
// reported iteration k begins a chunk, because the test split is to be classified with the weights before update k, and the
// statistics of a chunk's first iteration are of those weights too. The training split is classified beside it where the
// solver does not do that by the way.
//
// Nothing that the weights depend on depends on where chunks, reports, checkpoints or stops fall. So a run that goes on
// from a checkpoint ends with the same weights, bit for bit.
//
// Time is the device's own, from an event before a chunk to one behind it. Evaluation of the test split and checkpoints
// lie between chunks and are not in it.
#include "model/trainer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "model/solver.h"

namespace mnistd::model {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kChunkTime_ms = 25;  // half of the 50 ms that a stop may take

void check(const TrainSpec& spec) {
  if (spec.iterations < 1 || spec.iterations > kMaximumIterations)
    throw std::invalid_argument("iterations is " + std::to_string(spec.iterations) + "; expected 1 to " +
                                std::to_string(kMaximumIterations));
  if (!std::isfinite(spec.learning_rate) || spec.learning_rate < 0)
    throw std::invalid_argument("learning_rate is not a finite number of at least 0");
  if (spec.report_every < 1 || spec.report_every > spec.iterations)
    throw std::invalid_argument("report_every is " + std::to_string(spec.report_every) +
                                "; expected 1 to the number of iterations, " +
                                std::to_string(spec.iterations));
}

void check(const Checkpoint& resume, const TrainSpec& spec) {
  if (resume.iteration < 0 || resume.iteration > spec.iterations)
    throw std::invalid_argument("the checkpoint is of iteration " + std::to_string(resume.iteration) +
                                " of " + std::to_string(spec.iterations));
  if (resume.weights.size() != gpu::kWeights)
    throw std::invalid_argument("the checkpoint holds " + std::to_string(resume.weights.size()) +
                                " weights; expected " + std::to_string(gpu::kWeights));
  if (!std::isfinite(resume.train_ms) || resume.train_ms < 0)
    throw std::invalid_argument("the checkpoint's training time is no time");
}

std::string shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

std::unique_ptr<Solver> make_solver(SolverKind kind, gpu::Device& device, const ResidentDataset& dataset) {
  switch (kind) {
    case SolverKind::gemm:
      return make_gemm_solver(device, dataset.train());
    case SolverKind::gram:
      return make_gram_solver(device, dataset.gram_system());
  }
  throw std::invalid_argument("unknown solver");
}

// The first reported iteration after `iteration`; one past the last where there is none.
int next_reported(const TrainSpec& spec, int iteration) {
  if (iteration < 1) return 1;
  const int multiple = (iteration / spec.report_every + 1) * spec.report_every;
  return iteration < spec.iterations ? std::min(multiple, spec.iterations) : spec.iterations + 1;
}

class Training {
 public:
  Training(gpu::Device& device, const ResidentDataset& dataset, const TrainSpec& spec,
           TrainObserver& observer, const std::optional<Checkpoint>& resume)
      : device_(device),
        dataset_(dataset),
        spec_(spec),
        rate_(static_cast<float>(
            std::min(spec.learning_rate, static_cast<double>(std::numeric_limits<float>::max())))),
        observer_(observer),
        solver_(make_solver(spec.solver, device, dataset)),
        most_(std::min(solver_->most_iterations(), spec.iterations)),
        weights_(device, gpu::kWeights),
        statistics_(device, most_),
        correct_(device, 1),
        host_statistics_(most_) {
    if (resume) {
      weights_.upload(resume->weights);
      done_ = resume->iteration;
      train_ms_ = resume->train_ms;
    } else {
      device_.ops().initialise(weights_.data(), spec.seed);
    }
  }

  TrainResult run(const std::stop_token& stop) {
    Clock::time_point last_checkpoint = Clock::now();
    while (done_ < spec_.iterations) {
      if (stop.stop_requested()) {
        TrainResult stopped;
        stopped.stopped = true;
        stopped.state = state();
        stopped.train_ms = train_ms_;
        return stopped;
      }
      run_chunk();
      if (done_ < spec_.iterations && Clock::now() - last_checkpoint >= kCheckpointInterval) {
        observer_.on_checkpoint(state());
        last_checkpoint = Clock::now();
      }
    }
    return finish();
  }

 private:
  void run_chunk() {
    const int first = done_ + 1;
    const bool report = is_reported(spec_, first);
    MetricsRow row;
    if (report) {
      row.test_accuracy = static_cast<double>(correct_of(dataset_.test())) / dataset_.test().count;
      if (!solver_->counts_correct())
        row.train_accuracy = static_cast<double>(correct_of(dataset_.train())) / dataset_.train().count;
    }

    const int count = std::min({most_, chunk_limit_, next_reported(spec_, first) - first});
    const gpu::Event begin = device_.record();
    solver_->iterate(weights_.data(), rate_, count, statistics_.data());
    const gpu::Event end = device_.record();
    const auto statistics = std::span(host_statistics_).first(count);
    statistics_.download(statistics);
    const double chunk_ms = device_.elapsed_ms(begin, end);

    for (int i = 0; i < count; ++i)
      if (!std::isfinite(statistics[i].squared_residual)) fail_diverged(first + i);
    if (report) {
      row.iteration = first;
      row.loss = loss_of(statistics[0]);
      if (solver_->counts_correct())
        row.train_accuracy = static_cast<double>(statistics[0].correct) / dataset_.train().count;
      // The iterations of a chunk are alike; the first one's part of its time is an equal share.
      row.elapsed_ms = train_ms_ + chunk_ms / count;
      observer_.on_progress(row);
    }
    done_ += count;
    train_ms_ += chunk_ms;
    chunk_limit_ = static_cast<int>(std::clamp(kChunkTime_ms * count / std::max(chunk_ms, 1e-6), 1.0, 1e6));
  }

  // Loss and counts of the weights handed over: of one iteration more, whose step is not taken.
  TrainResult finish() {
    TrainResult result;
    result.state = state();
    result.test_correct = correct_of(dataset_.test());
    if (!solver_->counts_correct()) result.train_correct = correct_of(dataset_.train());
    solver_->iterate(weights_.data(), 0, 1, statistics_.data());
    statistics_.download(std::span(host_statistics_).first(1));
    const gpu::PassStatistics& statistics = host_statistics_.front();
    if (!std::isfinite(statistics.squared_residual)) fail_diverged(done_);
    result.loss = loss_of(statistics);
    if (solver_->counts_correct()) result.train_correct = static_cast<int>(statistics.correct);
    result.train_ms = train_ms_;
    return result;
  }

  // No loss is below 0; by the normal equations a tiny one may round to there.
  double loss_of(const gpu::PassStatistics& statistics) const {
    return std::max(0.0, statistics.squared_residual / dataset_.train().count);
  }

  int correct_of(const gpu::LabelledImages& images) {
    device_.ops().count_correct(images, weights_.data(), correct_.data());
    std::uint32_t correct = 0;
    correct_.download({&correct, 1});
    return static_cast<int>(correct);
  }

  Checkpoint state() const { return {done_, train_ms_, weights_.to_vector()}; }

  [[noreturn]] void fail_diverged(int iteration) const {
    throw Diverged(iteration, "training diverged: the loss left the finite numbers at iteration " +
                                  std::to_string(iteration) + " with learning rate " +
                                  shortest(spec_.learning_rate) + "; use a smaller learning rate");
  }

  gpu::Device& device_;
  const ResidentDataset& dataset_;
  const TrainSpec spec_;
  const float rate_;
  TrainObserver& observer_;
  const std::unique_ptr<Solver> solver_;
  const int most_;  // iterations of one chunk
  gpu::Buffer<float> weights_;
  gpu::Buffer<gpu::PassStatistics> statistics_;
  gpu::Buffer<std::uint32_t> correct_;
  std::vector<gpu::PassStatistics> host_statistics_;
  int done_ = 0;
  double train_ms_ = 0;
  int chunk_limit_ = 1;  // the first chunk measures
};

}  // namespace

std::string_view to_string(SolverKind solver) {
  switch (solver) {
    case SolverKind::gemm:
      return "gemm";
    case SolverKind::gram:
      return "gram";
  }
  throw std::invalid_argument("unknown solver");
}

std::optional<SolverKind> parse_solver(std::string_view text) {
  if (text == "gemm") return SolverKind::gemm;
  if (text == "gram") return SolverKind::gram;
  return std::nullopt;
}

int default_report_every(int iterations) {
  // Iteration 1 and the last are reported besides the multiples, so that the quotient alone may be one too small.
  const auto reports = [iterations](int every) {
    if (every == 1) return iterations;
    return 1 + iterations / every + (iterations % every != 0 ? 1 : 0);
  };
  int every = std::max(1, iterations / kMaximumReports);
  while (reports(every) > kMaximumReports) ++every;
  return every;
}

bool is_reported(const TrainSpec& spec, int iteration) {
  return iteration == 1 || iteration == spec.iterations || iteration % spec.report_every == 0;
}

TrainResult train(gpu::Device& device, const ResidentDataset& dataset, const TrainSpec& spec,
                  TrainObserver& observer, std::stop_token stop, const std::optional<Checkpoint>& resume) {
  check(spec);
  if (resume) check(*resume, spec);
  return Training(device, dataset, spec, observer, resume).run(stop);
}

}  // namespace mnistd::model
