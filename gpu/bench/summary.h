// What is told of repeated measurements.
#pragma once

#include <vector>

namespace mnistd::gpu::bench {

struct Summary {
  double median = 0;
  double lower = 0, upper = 0;  // quartiles: a quarter of the values is below, a quarter above
  double least = 0, most = 0;
  int count = 0;
};

// Of at least one value (std::invalid_argument). Between two values quantiles are interpolated linearly.
Summary summarise(std::vector<double> values);

}  // namespace mnistd::gpu::bench
