// What is checked and timed: every operation of Ops, on inputs and into outputs that lie ready.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/bench/output.h"
#include "gpu/bench/truth.h"

namespace mnistd::gpu::bench {

// Of one call, or one iteration of the operations that iterate. Counted as the algorithm needs them, whatever a kernel does:
// the upper triangle of XᵀX only, every pixel read once, blank ones too.
struct Work {
  double flops = 0;            // fp32; a multiply-add is two
  double byte_operations = 0;  // products of bytes added to integers; likewise
  double bytes = 0;            // inputs and outputs, each once
};

// The operations' arguments on a device.
class Workbench {
 public:
  static constexpr int kMostIterations = 4096;  // in one call

  // truth must outlive this. Outputs that some operation needs are made with the first that does.
  Workbench(Device& device, const LabelledImages& images, const Truth& truth);

  Device& device;
  const LabelledImages images;
  const Truth& truth;
  float rate;
  Buffer<float> weights, given_gradient;
  Buffer<float> products, class_sums;  // a GramSystem's
  Output<float> by_weight;             // 10×785
  Output<PassStatistics> statistics;   // kMostIterations
  Output<std::uint32_t> correct;

  GramSystem system() const { return {products.data(), class_sums.data(), images.count}; }
  Output<float>& by_image();        // n×10
  const Buffer<float>& residual();  // n×10: the truth's, in float
  Output<std::uint64_t>& exact_products();
  Output<std::uint64_t>& exact_class_sums();

 private:
  std::vector<Output<float>> by_image_;
  std::vector<Buffer<float>> residual_;
  std::vector<Output<std::uint64_t>> exact_;
};

struct Operation {
  std::string_view name;
  // Names of variant lists (DeviceInfo::kernels) that it is made of.
  std::vector<std::string_view> products;
  bool reads_pixels;
  bool iterates;  // `count` goes to one call; else it is called so many times
  Work (*work)(double images);
  void (*launch)(Workbench& bench, int count);
  // Launches it on poisoned outputs; a line for each thing that is wrong.
  std::vector<std::string> (*faults)(Workbench& bench);
};

// In the order in which a training needs them.
const std::vector<Operation>& operations();

// Those that a variant, "gradient=2-tiled", is to be timed by: the ones named like its list or made of it; all of them for a
// list that nobody told us of.
std::vector<const Operation*> operations_of(std::string_view kernel);

}  // namespace mnistd::gpu::bench
