#include "gpu/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

namespace mnistd::gpu::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLeastSamples = 3;

double milliseconds(Workbench& bench, const Operation& operation, int count) {
  const Event begin = bench.device.record();
  operation.launch(bench, count);
  return bench.device.elapsed_ms(begin, bench.device.record());
}

// As many calls as make a sample of `least_ms`. An iteration of many is quicker than one alone, so it is asked twice.
int calls_for(Workbench& bench, const Operation& operation, double least_ms) {
  int count = 1;
  for (int round = 0; round < 3; ++round) {
    const double took = milliseconds(bench, operation, count);
    if (took >= least_ms) break;
    const double wanted = took > 0 ? 1.2 * count * least_ms / took : 2.0 * count;
    count = static_cast<int>(std::clamp(wanted, 1.0, 1.0 * Workbench::kMostIterations));
  }
  return count;
}

template <class Sample>
Summary sampled(const TimingEffort& effort, Sample&& sample) {
  std::vector<double> values;
  const Clock::time_point begin = Clock::now();
  while (static_cast<int>(values.size()) < effort.samples) {
    values.push_back(sample());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (static_cast<int>(values.size()) >= kLeastSamples && seconds > effort.most_seconds) break;
  }
  return summarise(std::move(values));
}

}  // namespace

Timing time_operation(Workbench& bench, const Operation& operation, const TimingEffort& effort) {
  bench.by_weight.fill(bench.truth.initial_weights());
  operation.launch(bench, 1);
  Timing timing;
  timing.calls_a_sample = calls_for(bench, operation, effort.least_sample_ms);
  std::vector<double> processor;
  timing.warm = sampled(effort, [&] {
    const std::clock_t begin = std::clock();
    const double took = milliseconds(bench, operation, timing.calls_a_sample);
    const double ticks = static_cast<double>(std::clock() - begin);
    processor.push_back(1e3 * ticks / CLOCKS_PER_SEC / timing.calls_a_sample);
    return took / timing.calls_a_sample;
  });
  timing.processor = summarise(std::move(processor));
  timing.cold = sampled(effort, [&] {
    bench.device.empty_cache();
    return milliseconds(bench, operation, 1);
  });
  return timing;
}

}  // namespace mnistd::gpu::bench
