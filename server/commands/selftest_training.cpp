#include "server/commands/selftest_training.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>

#include "model/trainer.h"

namespace mnistd::commands {
namespace {

constexpr std::size_t kFeatures = gpu::kFeatures;
constexpr std::size_t kPixels = gpu::kPixels;
constexpr std::size_t kClasses = gpu::kClasses;

// Ten shapes of a fifth of the pixels each, drawn with changing strength, and a few pixels of dirt.
model::Split made_up_digits(int images, std::uint32_t seed) {
  std::mt19937 shapes(2);
  std::vector<std::uint8_t> ink(kClasses * kPixels);
  for (std::uint8_t& pixel : ink) pixel = shapes() % 5 == 0 ? 255 : 0;
  std::mt19937 random(seed);
  model::Split split;
  for (int image = 0; image < images; ++image) {
    const std::size_t label = random() % kClasses;
    split.labels.push_back(static_cast<std::uint8_t>(label));
    for (std::size_t p = 0; p < kPixels; ++p) {
      const std::uint32_t noise = random();
      const bool dirt = noise % 16 == 0;
      const std::uint32_t drawn = ink[label * kPixels + p] == 0 ? 0 : 255 - (noise >> 25);
      split.pixels.push_back(static_cast<std::uint8_t>(dirt ? noise >> 24 : drawn));
    }
  }
  return split;
}

// Gradient descent as README.md has it, in double and without the code under test.
class Float64Descent {
 public:
  Float64Descent(const model::Split& split, std::uint32_t seed)
      : labels_(split.labels),
        features_(split.labels.size() * kFeatures, 1.0),
        weights_(kClasses * kFeatures) {
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      for (std::size_t p = 0; p < kPixels; ++p)
        features_[i * kFeatures + p] = split.pixels[i * kPixels + p] / 255.0;
    }
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
      std::uint32_t s = i + seed;
      s = (s ^ s >> 16) * 0x85ebca6bU;
      s = (s ^ s >> 13) * 0xc2b2ae35U;
      s ^= s >> 16;
      weights_[i] = 0.01 * ((s >> 8) / 16777216.0 - 0.5);
    }
    pass();
  }

  double loss() const { return loss_; }
  int correct() const { return correct_; }
  int doubtful() const { return doubtful_; }  // images whose best scores differ by rounding only

  void step(double rate) {
    for (std::size_t c = 0; c < kClasses; ++c) {
      std::vector<double> gradient(kFeatures);
      for (std::size_t i = 0; i < labels_.size(); ++i) {
        const double residual = residual_[i * kClasses + c];
        for (std::size_t p = 0; p < kFeatures; ++p) gradient[p] += residual * features_[i * kFeatures + p];
      }
      const double scale = rate * 2 / static_cast<double>(labels_.size());
      for (std::size_t p = 0; p < kFeatures; ++p) weights_[c * kFeatures + p] -= scale * gradient[p];
    }
    pass();
  }

 private:
  void pass() {
    residual_.clear();
    loss_ = 0;
    correct_ = doubtful_ = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      double own = 0;
      double others = -std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < kClasses; ++c) {
        double score = 0;
        for (std::size_t p = 0; p < kFeatures; ++p)
          score += weights_[c * kFeatures + p] * features_[i * kFeatures + p];
        residual_.push_back(score - (labels_[i] == c ? 1 : 0));
        loss_ += residual_.back() * residual_.back() / static_cast<double>(labels_.size());
        if (labels_[i] == c)
          own = score;
        else
          others = std::max(others, score);
      }
      correct_ += own > others ? 1 : 0;
      doubtful_ += std::fabs(own - others) < 1e-5 ? 1 : 0;
    }
  }

  const std::vector<std::uint8_t>& labels_;
  std::vector<double> features_;  // n×785
  std::vector<double> weights_;   // 10×785
  std::vector<double> residual_;  // n×10
  double loss_ = 0;
  int correct_ = 0;
  int doubtful_ = 0;
};

class Rows final : public model::TrainObserver {
 public:
  explicit Rows(TrainingCheck& check) : check_(check) {}
  void on_progress(const model::MetricsRow& row) override {
    check_.rows.push_back({.iteration = row.iteration, .loss = row.loss});
    correct.push_back(static_cast<int>(std::lround(row.train_accuracy * check_.images)));
  }
  void on_checkpoint(const model::Checkpoint&) override {}
  std::vector<int> correct;

 private:
  TrainingCheck& check_;
};

}  // namespace

double TrainingCheck::Row::relative_error() const { return std::fabs(loss - float64) / float64; }

TrainingCheck check_training(gpu::Device& device, int images) {
  const auto dataset = std::make_shared<model::Dataset>();
  dataset->train = made_up_digits(images, 1);
  dataset->test = made_up_digits(97, 3);
  const model::ResidentDataset resident(device, dataset);
  model::TrainSpec spec;
  spec.iterations = TrainingCheck::kIterations;

  TrainingCheck check;
  check.images = images;
  Rows rows(check);
  const model::TrainResult result = model::train(device, resident, spec, rows, {});
  check.rows.push_back({.iteration = TrainingCheck::kIterations + 1, .loss = result.loss});
  rows.correct.push_back(result.train_correct);
  check.milliseconds = result.train_ms / TrainingCheck::kIterations;

  Float64Descent descent(dataset->train, spec.seed);
  for (std::size_t k = 0; k < check.rows.size(); ++k) {
    TrainingCheck::Row& row = check.rows[k];
    row.float64 = descent.loss();
    const std::string where = "iteration " + std::to_string(row.iteration) + ": ";
    if (!row.ok()) check.faults.push_back(where + "the loss is off");
    if (std::abs(rows.correct[k] - descent.correct()) > descent.doubtful()) {
      check.faults.push_back(where + std::to_string(rows.correct[k]) + " are counted correct, expected " +
                             std::to_string(descent.correct()) + " ± " + std::to_string(descent.doubtful()));
    }
    descent.step(static_cast<float>(spec.learning_rate));
  }
  if (check.rows.size() != std::size_t{TrainingCheck::kIterations} + 1)
    check.faults.push_back(std::to_string(check.rows.size() - 1) + " iterations were reported");
  return check;
}

}  // namespace mnistd::commands
