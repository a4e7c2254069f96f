#include "gpu/bench/summary.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace mnistd::gpu::bench {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarise(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("a summary of no values");
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75),
          values.front(),        values.back(),          static_cast<int>(values.size())};
}

}  // namespace mnistd::gpu::bench
