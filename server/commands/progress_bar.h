// A line on a terminal that grows with the training.
#pragma once

#include <chrono>
#include <string>

#include "model/trainer.h"

namespace mnistd::commands {

// The line for a reported iteration, at most `width` columns: bar, iteration, loss, ms an iteration.
std::string progress_line(const model::MetricsRow& row, int iterations, int width);

// Draws over the last line of stderr, at most twenty times a second; nothing where stderr is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(int iterations);
  void show(const model::MetricsRow& row);
  void end();  // goes to a line of its own, if anything was drawn

 private:
  int iterations_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace mnistd::commands
