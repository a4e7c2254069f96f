#include "gpu/cpu/gram_descent.h"

#include <algorithm>

#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_gram_step.h"
#include "gpu/cpu/task_rounds.h"

namespace mnistd::gpu::cpu {
namespace {

constexpr std::size_t kGroups = kClasses / kStepClasses;
constexpr std::size_t kMatrix = std::size_t{kClasses} * kGramStride;

}  // namespace

void GramDescent::pack_panel(const GramSystem& system, std::size_t panel) {
  const std::size_t first = panel * columns_;
  const std::size_t end = std::min(first + columns_, features_.size());
  const std::size_t* columns = features_.data() + first;
  const std::size_t count = end - first;
  const bool contiguous = count == columns_ && columns[count - 1] - columns[0] == count - 1;
  float* to = panels_.data() + panel * columns_ * features_.size();
  for (const std::size_t row : features_) {
    const float* from = system.products + kGramStride * row;
    if (contiguous) {
      std::copy_n(from + columns[0], columns_, to);
    } else {
      for (std::size_t k = 0; k < count; ++k) to[k] = from[columns[k]];
      std::fill(to + count, to + columns_, 0.0f);
    }
    to += columns_;
  }
}

void GramDescent::pack(ThreadTeam& team, const GramSystem& system) {
  if (system.id != 0 && system.id == packed_) return;
  packed_ = 0;  // while it is neither the old one nor the new
  features_.clear();
  for (std::size_t a = 0; a < kFeatures; ++a) {
    if (system.products[(kGramStride + 1) * a] != 0) features_.push_back(a);
  }
  columns_ = gram_panel_columns();
  panel_count_ = (features_.size() + columns_ - 1) / columns_;
  if (weights_.size() == 0) {
    weights_ = AlignedArray<float>(2 * kMatrix);
    class_sums_ = AlignedArray<float>(kMatrix);
    shares_ = AlignedArray<double>(2 * kGroups * kGramStride);
  }
  if (panels_.size() < panel_count_ * columns_ * features_.size()) {
    panels_ = AlignedArray<float>(panel_count_ * columns_ * features_.size());
  }
  std::fill_n(class_sums_.data(), kMatrix, 0.0f);
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t k = 0; k < features_.size(); ++k)
      class_sums_.data()[kGramStride * c + k] = system.class_sums[kGramStride * c + features_[k]];
  }
  team.run(panel_count_, [&](std::size_t panel, int) { pack_panel(system, panel); });
  packed_ = system.id;
}

void GramDescent::pack_weights(const float* weights) {
  std::fill_n(weights_.data(), 2 * kMatrix, 0.0f);
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t k = 0; k < features_.size(); ++k)
      weights_.data()[kGramStride * c + k] = weights[kFeatures * c + features_[k]];
  }
}

// Returns the task's share of the loss.
double GramDescent::step(std::uint32_t round, std::uint32_t task, float twice_rate) {
  const std::size_t panel = task / kGroups;
  const std::size_t classes = task % kGroups * kStepClasses * kGramStride;
  const std::size_t columns = panel * columns_;
  GramStep step;
  step.panel = panels_.data() + columns * features_.size();
  step.rows = features_.size();
  step.all_weights = weights_.data() + round % 2 * kMatrix + classes;
  step.weights = step.all_weights + columns;
  step.class_sums = class_sums_.data() + classes + columns;
  step.next_weights = weights_.data() + (round + 1) % 2 * kMatrix + classes + columns;
  step.twice_rate = twice_rate;
  return gram_step_panel(step);
}

double GramDescent::loss(std::uint32_t round) const {
  const double* shares = shares_.data() + round % 2 * kGroups * kGramStride;
  double loss = 1;
  for (std::size_t task = 0; task < kGroups * panel_count_; ++task) loss += shares[task];
  return loss;
}

void GramDescent::run(ThreadTeam& team, const GramSystem& system, float* weights, float rate, int count,
                      PassStatistics* statistics) {
  require_images(system.images);
  pack(team, system);
  pack_weights(weights);
  const auto rounds = static_cast<std::uint32_t>(count);
  const auto note_loss = [&](std::uint32_t round) {
    statistics[round] = {loss(round) * system.images, 0, 0};
  };
  TaskRounds steps(rounds, {static_cast<std::uint32_t>(kGroups * panel_count_)}, team.size());
  team.run(static_cast<std::size_t>(team.size()), [&](std::size_t, int member) {
    steps.take_part(member, [&](std::uint32_t round, std::uint32_t task) {
      if (task == 0 && round > 0) note_loss(round - 1);
      shares_.data()[round % 2 * kGroups * kGramStride + task] = step(round, task, 2 * rate);
    });
  });
  note_loss(rounds - 1);
  const float* last = weights_.data() + rounds % 2 * kMatrix;
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t k = 0; k < features_.size(); ++k)
      weights[kFeatures * c + features_[k]] = last[kGramStride * c + k];
  }
}

}  // namespace mnistd::gpu::cpu
