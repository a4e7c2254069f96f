// mnistd train: one run without the daemon.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "model/linear.h"
#include "model/spectrum.h"
#include "model/trainer.h"
#include "server/commands/commands.h"
#include "server/commands/interrupt.h"
#include "server/commands/leaf_through.h"
#include "server/commands/loss_csv.h"
#include "server/commands/progress_bar.h"

namespace mnistd::commands {
namespace {

constexpr int kFailed = 1;
const char* const kLossFile = "loss.csv";

class Reporter final : public model::TrainObserver {
 public:
  explicit Reporter(int iterations) : bar_(iterations) {}
  void on_progress(const model::MetricsRow& row) override {
    rows_.push_back(row);
    bar_.show(row);
  }
  void on_checkpoint(const model::Checkpoint&) override {}
  void end_bar() { bar_.end(); }
  const std::vector<model::MetricsRow>& rows() const { return rows_; }

 private:
  ProgressBar bar_;
  std::vector<model::MetricsRow> rows_;
};

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

void print(const char* name, const std::string& value) { std::printf("%-19s %s\n", name, value.c_str()); }

std::string accuracy_text(int correct, int count) {
  return std::to_string(correct) + "/" + std::to_string(count) + " (" +
         format("%.2f %%", 100.0 * correct / count) + ")";
}

std::string device_text(const gpu::DeviceInfo& info) {
  std::string text = info.name + ", " + info.architecture + ", " + std::to_string(info.compute_units);
  text += info.backend == "cpu" ? (info.compute_units == 1 ? " thread" : " threads") : " compute units";
  return text;
}

void print_head(const TrainOptions& options, const model::Dataset& dataset, const gpu::DeviceInfo& device) {
  print("Dataset:", options.dataset.string() + ": " + std::to_string(dataset.train.count()) +
                        " training and " + std::to_string(dataset.test.count()) + " test images of 28x28");
  print("Device:", device_text(device));
  std::fflush(stdout);
}

void print_time(double train_ms, int iterations) {
  print("Time:", format("%.3f s", train_ms / 1000));
  if (iterations > 0) print("Time an iteration:", format("%.4g ms", train_ms / iterations));
}

void print_result(const model::TrainSpec& spec, const model::Dataset& dataset,
                  const model::TrainResult& result) {
  print("Iterations:", std::to_string(spec.iterations) + " at learning rate " +
                           format("%g", spec.learning_rate) + ", solver " +
                           std::string(to_string(spec.solver)));
  print("Training accuracy:", accuracy_text(result.train_correct, dataset.train.count()));
  print("Test accuracy:", accuracy_text(result.test_correct, dataset.test.count()));
  print("Loss:", format("%.9f", result.loss));
  print_time(result.train_ms, spec.iterations);
}

// Of a run that was interrupted: the last that it reported.
void print_stopped(const TrainOptions& options, const model::TrainResult& stopped,
                   const std::vector<model::MetricsRow>& rows) {
  print("Stopped:", "after " + std::to_string(stopped.state.iteration) + " of " +
                        std::to_string(options.iterations) + " iterations");
  if (!rows.empty()) {
    const model::MetricsRow& row = rows.back();
    const std::string when = " (iteration " + std::to_string(row.iteration) + ")";
    print("Training accuracy:", format("%.2f %%", 100 * row.train_accuracy) + when);
    print("Test accuracy:", format("%.2f %%", 100 * row.test_accuracy) + when);
    print("Loss:", format("%.9f", row.loss) + when);
  }
  print_time(stopped.train_ms, stopped.state.iteration);
}

void show_digits(const model::Split& test, const model::TrainResult& result) {
  const model::LinearModel linear(result.state.weights);
  const bool color = isatty(STDOUT_FILENO) == 1;
  std::cout << '\n';
  if (isatty(STDIN_FILENO) == 1)
    leaf_through(test, linear, std::cin, std::cout, color);
  else
    draw_test_digit(test, linear, 0, std::cout, color);
}

// No eigenvalue of XᵀX/n is above its trace, the mean of the images' squared lengths.
double surely_stable_rate(const model::Split& train) {
  std::uint64_t squares = 0;
  for (const std::uint8_t pixel : train.pixels) squares += std::uint64_t{pixel} * pixel;
  return 1 / (static_cast<double>(squares) / (255.0 * 255.0) / train.count() + 1);
}

// Fills in an automatic rate; a rate that is too large is told. The eigenvalues take a second and are looked for only where
// they are needed.
void settle_learning_rate(const TrainOptions& options, const model::ResidentDataset& resident,
                          model::TrainSpec& spec) {
  const double sure = surely_stable_rate(resident.host().train);
  if (options.learning_rate && *options.learning_rate <= sure) {
    spec.learning_rate = *options.learning_rate;
    return;
  }
  const model::Spectrum spectrum = model::compute_spectrum(*resident.gram());
  spec.learning_rate = options.learning_rate.value_or(spectrum.automatic_rate());
  if (!options.learning_rate)
    print("Learning rate:", format("%.6g", spec.learning_rate) + ", half of the stability limit " +
                                format("%.6g", spectrum.stability_limit()));
  if (spec.learning_rate > spectrum.stability_limit())
    std::cerr << "mnistd: warning: learning rate " << format("%g", spec.learning_rate)
              << " is above the stability limit of this dataset, "
              << format("%.6g", spectrum.stability_limit())
              << ": the loss will grow until it leaves the finite numbers; stay below or take auto\n";
  std::fflush(stdout);
}

}  // namespace

int run_train(const TrainOptions& options) {
  const auto dataset = model::load_dataset(options.dataset.string(), options.dataset);
  LossCsv loss_csv(kLossFile);
  model::TrainResult result;
  model::TrainSpec spec;
  spec.iterations = options.iterations;
  spec.solver = options.solver;
  spec.report_every = model::default_report_every(options.iterations);
  Reporter reporter(options.iterations);
  {
    const InterruptToStop interrupt;  // before the device starts its threads
    const auto device = gpu::Device::open(options.device);
    if (!device->info().reason.empty()) std::cerr << "mnistd: " << device->info().reason << '\n';
    print_head(options, *dataset, device->info());
    const model::ResidentDataset resident(*device, dataset);
    settle_learning_rate(options, resident, spec);
    try {
      result = model::train(*device, resident, spec, reporter, interrupt.token());
    } catch (const model::Diverged&) {
      // The rows up to there show how it came to that.
      reporter.end_bar();
      loss_csv.write(reporter.rows());
      throw;
    } catch (...) {
      reporter.end_bar();
      throw;
    }
    reporter.end_bar();
  }
  loss_csv.write(reporter.rows());
  if (result.stopped) {
    print_stopped(options, result, reporter.rows());
  } else {
    print_result(spec, *dataset, result);
  }
  print("Loss by iteration:",
        std::string(kLossFile) + " (" + std::to_string(reporter.rows().size()) + " rows)");
  std::fflush(stdout);
  if (result.stopped) return kFailed;
  show_digits(dataset->test, result);
  std::cout.flush();
  return std::cout && std::ferror(stdout) == 0 ? 0 : kFailed;
}

}  // namespace mnistd::commands
