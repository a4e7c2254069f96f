// Ten iterations of the real training loop on made-up images, against the same descent in float64.
#pragma once

#include <string>
#include <vector>

#include "gpu/device.h"

namespace mnistd::commands {

struct TrainingCheck {
  static constexpr int kIterations = 10;
  static constexpr double kTolerance = 1e-5;  // relative, of each loss

  struct Row {
    int iteration = 0;  // kIterations + 1: of the weights handed over
    double loss = 0;
    double float64 = 0;
    double relative_error() const;
    bool ok() const { return relative_error() <= kTolerance; }
  };
  int images = 0;
  std::vector<Row> rows;
  std::vector<std::string> faults;  // a line each
  double milliseconds = 0;          // an iteration
};

// Throws what training throws.
TrainingCheck check_training(gpu::Device& device, int images);

}  // namespace mnistd::commands
