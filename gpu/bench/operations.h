// What is checked and timed: every operation of Ops, on inputs and into outputs that lie ready.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/bench/workbench.h"

namespace mnistd::gpu::bench {

// Of one call, or one iteration of the operations that iterate. Counted as the algorithm needs them, whatever a kernel does:
// the upper triangle of XᵀX only, every pixel read once, blank ones too.
struct Work {
  double flops = 0;            // fp32; a multiply-add is two
  double byte_operations = 0;  // products of bytes added to integers; likewise
  double bytes = 0;            // inputs and outputs, each once
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
