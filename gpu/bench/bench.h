// The benchmark: checks every operation and every variant of it that the device can be made to use, then times what is right.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/images.h"
#include "gpu/bench/operations.h"
#include "gpu/bench/timing.h"

namespace mnistd::gpu::bench {

struct BenchOptions {
  DeviceOptions device;
  int images = 0;                       // on the device; 0: those of the host
  std::vector<std::string> operations;  // empty: all
  bool variants = true;                 // or only what the device chooses
  int iterations = -1;  // of the trainings, to Workbench::kMostIterations; 0: none; −1: 300, or 5 if quick
  bool quick = false;   // few samples, few sizes
};

// What bounds an operation most, by the limits that were measured.
struct Bound {
  double milliseconds = 0;
  std::string by;  // "fp32", "bytes of memory", "byte products"
};
Bound bound_of(const Work& work, const Limits& limits);

struct Row {
  std::string operation;
  std::string kernel;  // that was forced; empty: the device's choice
  std::string source;  // of the images
  std::vector<std::string> faults;
  Work work;
  std::optional<Timing> timing;  // of what has no faults
  Bound bound;
};

// As a job trains, from the initial weights: the loss after the last iteration, against float64.
struct Training {
  std::string solver;  // "gemm", "gram"
  int iterations = 0;
  float rate = 0;
  double milliseconds = 0;  // of an iteration, the whole training in one call
  double loss = 0, expected_loss = 0;
  std::vector<std::string> faults;
};

struct Memory {
  std::uint64_t images = 0;        // bytes of pixels and labels
  std::uint64_t gemm_scratch = 0;  // that the operations keep after an iteration of descend
  std::uint64_t all_scratch = 0;   // after every operation that was asked for
};

struct Report {
  DeviceInfo device;
  std::string source;
  int images = 0;
  int host_images = 0;
  Limits limits;
  Memory memory;
  std::vector<Row> rows;
  std::vector<Training> trainings;
  bool right() const;  // no fault anywhere
};

struct BenchObserver {
  virtual ~BenchObserver() = default;
  virtual void on_device(const Report& report) = 0;  // its device, images and limits
  virtual void on_row(const Row& row) = 0;
  virtual void on_training(const Training& training) = 0;
};

// `inputs`: the images to work on, at least one; what depends on their blanks is timed for the following too. Throws
// DeviceError, NoSuchDevice and std::invalid_argument for an operation that is not there.
Report run_bench(const BenchOptions& options, const std::vector<const HostImages*>& inputs,
                 BenchObserver& observer);

}  // namespace mnistd::gpu::bench
