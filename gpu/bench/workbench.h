// The arguments of the operations on a device: inputs, and outputs that are poisoned and guarded.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/output.h"
#include "gpu/bench/truth.h"

namespace mnistd::gpu::bench {

// What statistics hold before an operation writes them.
inline constexpr PassStatistics kPoisonStatistics = {-8906.25, 0xdeadbeef, 77};

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

}  // namespace mnistd::gpu::bench
