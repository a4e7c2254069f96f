// Every operation of a device against the CPU's reference, at sizes around the edges of tiles.
//
// The device's result may differ from the reference's by what rounding in float can make of it: eps·(8 + K/8) of the sum of
// the magnitudes, K being the terms of a sum, but no more than 4,096, since no operation adds more floats than that without
// going over to double. Results are poisoned before and guarded on both sides. A NaN fails.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "server/commands/selftest_cases.h"

namespace mnistd::commands {

// What an operation made of all sizes. error and tolerance are of the entry that came closest to its tolerance, or went
// farthest beyond.
struct OperationResult {
  std::string operation;
  std::string kernel;  // that was forced; empty: the device's choice
  double error = 0;
  double tolerance = 0;
  double share = -1;                   // error / tolerance
  std::optional<double> milliseconds;  // least of some runs over kTimedImages
  std::vector<std::string> faults;     // a line each
};

inline constexpr int kTimedImages = 60'000;

class OperationChecks {
 public:
  // Makes inputs for each of these numbers of images and computes what must come out.
  explicit OperationChecks(std::span<const int> sizes);

  // All operations, or those that `kernel`, as in DeviceOptions::kernel, has a part in; the device was opened with it. A
  // DeviceError is a fault like any other; DeviceLost is thrown.
  std::vector<OperationResult> run(gpu::Device& device, const std::string& kernel) const;

 private:
  std::vector<SelftestCase> cases_;
};

// Of one loss_and_gradient over so many random images, after one to warm up.
double milliseconds_of_pass(gpu::Device& device, int images);

}  // namespace mnistd::commands
