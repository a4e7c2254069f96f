#include "gpu/hip/gram_descent.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mnistd::gpu::hip {
namespace {

// The array, of `count` values from the first call on.
template <class T>
T* made(DeviceArray<T>& array, std::size_t count) {
  if (array.size() == 0) array = DeviceArray<T>(count);
  return array.data();
}

template <class T>
std::uint64_t bytes_of(const DeviceArray<T>& array) {
  return array.size() * sizeof(T);
}

}  // namespace

std::uint64_t GramDescent::bytes() const {
  return bytes_of(next_weights_) + bytes_of(block_statistics_) + bytes_of(matrices_) + bytes_of(shares_) +
         bytes_of(exchange_);
}

GramDescent::~GramDescent() {
  if (recorded_) forget(hipStreamSynchronize(stream_));
}

void GramDescent::descend(const GramSystem& system, float* weights, float rate, int count,
                          PassStatistics* statistics) {
  switch (way_) {
    case kernels::GramStepWay::plain:
      return descend_plainly(system, weights, rate, count, statistics);
    case kernels::GramStepWay::launches:
      return descend_by_launches(system, weights, rate, count, statistics);
    case kernels::GramStepWay::cooperation:
      return descend_by_cooperation(system, weights, rate, count, statistics);
  }
}

void GramDescent::descend_plainly(const GramSystem& system, float* weights, float rate, int count,
                                  PassStatistics* statistics) {
  float* next = made(next_weights_, kWeights);
  PassStatistics* block_statistics = made(block_statistics_, kernels::kGramStepBlocks);
  for (int k = 0; k < count; ++k) {
    kernels::gram_step_1_plain(stream_, system, weights, rate, next, block_statistics);
    kernels::reduce_gram_statistics(stream_, system, block_statistics, statistics + k);
    MNISTD_HIP_CHECK(
        hipMemcpyAsync(weights, next, kWeights * sizeof(float), hipMemcpyDeviceToDevice, stream_));
  }
}

void GramDescent::launch_steps(const GramSystem& system, float rate, int count) {
  for (int k = 0; k < count; ++k) {
    kernels::gram_step_2_one_launch(stream_, system, place(k), rate, place(k + 1), k, shares_.data());
  }
}

const std::optional<Graph>& GramDescent::graph_for(const GramSystem& system, float rate) {
  if (recorded_ && recorded_->products == system.products && recorded_->class_sums == system.class_sums &&
      recorded_->rate == rate) {
    return recorded_->graph;
  }
  if (recorded_) MNISTD_HIP_CHECK(hipStreamSynchronize(stream_));  // the old graph may still run
  recorded_.reset();
  recorded_.emplace(Recorded{system.products, system.class_sums, rate,
                             Graph::record(stream_, [&] { launch_steps(system, rate, kGraphIterations); })});
  return recorded_->graph;
}

void GramDescent::descend_by_launches(const GramSystem& system, float* weights, float rate, int count,
                                      PassStatistics* statistics) {
  made(matrices_, 2 * kernels::kGramMatrix);
  double* shares = made(shares_, std::size_t{kernels::kGramShares} * kernels::kGramIterations);
  kernels::gram_begin(stream_, weights, place(0));
  while (count > 0) {
    const int now = std::min(count, kGraphIterations);
    const Graph* graph = nullptr;
    if (now == kGraphIterations) {
      const std::optional<Graph>& found = graph_for(system, rate);
      graph = found ? &*found : nullptr;
    }
    if (graph != nullptr) {
      graph->launch(stream_);
    } else {
      launch_steps(system, rate, now);
    }
    kernels::gram_finish(stream_, place(now), nullptr, weights, system.images, shares,
                         kernels::kGramLaunchShares, now, statistics);
    statistics += now;
    count -= now;
  }
}

void GramDescent::descend_by_cooperation(const GramSystem& system, float* weights, float rate, int count,
                                         PassStatistics* statistics) {
  if (exchange_.size() == 0) {
    DeviceArray<std::uint64_t> exchange(2 * kernels::kGramMatrix);
    MNISTD_HIP_CHECK(hipMemsetAsync(exchange.data(), 0, exchange.size() * sizeof(std::uint64_t), stream_));
    exchange_ = std::move(exchange);
  }
  double* shares = made(shares_, std::size_t{kernels::kGramShares} * kernels::kGramIterations);
  const kernels::GramCooperation cooperation = kernels::gram_cooperation();
  while (count > 0) {
    const int now = std::min(count, kernels::kGramIterations);
    const int share_count = kernels::gram_step_3_cooperative(stream_, system, weights, rate, now, last_tag_,
                                                             exchange_.data(), shares, cooperation);
    last_tag_ += static_cast<std::uint32_t>(now);
    kernels::gram_finish(stream_, nullptr, exchange_.data() + (last_tag_ & 1) * kernels::kGramMatrix, weights,
                         system.images, shares, share_count, now, statistics);
    statistics += now;
    count -= now;
  }
}

}  // namespace mnistd::gpu::hip
