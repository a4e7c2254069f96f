// Many iterations by the normal equations, in one of three ways (kernels/variants.h), and what each needs of memory.
//
// However a number of iterations is cut into calls, and these into launches, the result is the same, bit for bit: a call
// begins where W is and leaves it there, and no sum crosses an iteration.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/hip/device_memory.h"
#include "gpu/hip/graph.h"
#include "gpu/kernels/variants.h"

namespace mnistd::gpu::hip {

class GramDescent {
 public:
  // stream must outlive this.
  GramDescent(hipStream_t stream, kernels::GramStepWay way) : stream_(stream), way_(way) {}
  // Waits for what is on the stream.
  ~GramDescent();
  GramDescent(const GramDescent&) = delete;
  GramDescent& operator=(const GramDescent&) = delete;

  // As Ops::gram_descend. Memory is allocated in the first call.
  void descend(const GramSystem& system, float* weights, float rate, int count, PassStatistics* statistics);

  // Of its memory on the device.
  std::uint64_t bytes() const;

 private:
  // Launches of one kernel that are recorded as a graph: even, so that W is back where it was.
  static constexpr int kGraphIterations = 32;

  // What a graph's launches were given. It is recorded anew for others.
  struct Recorded {
    const float* products;
    const float* class_sums;
    float rate;
    std::optional<Graph> graph;  // none where the runtime has none
  };

  void descend_plainly(const GramSystem& system, float* weights, float rate, int count,
                       PassStatistics* statistics);
  void descend_by_launches(const GramSystem& system, float* weights, float rate, int count,
                           PassStatistics* statistics);
  void descend_by_cooperation(const GramSystem& system, float* weights, float rate, int count,
                              PassStatistics* statistics);
  const std::optional<Graph>& graph_for(const GramSystem& system, float rate);
  // Iterations 0 to count − 1 from W at place 0.
  void launch_steps(const GramSystem& system, float rate, int count);
  // W of even iterations, and of odd ones.
  float* place(int iteration) { return matrices_.data() + iteration % 2 * kernels::kGramMatrix; }

  hipStream_t stream_;
  kernels::GramStepWay way_;
  DeviceArray<float> next_weights_;  // plainly
  DeviceArray<PassStatistics> block_statistics_;
  DeviceArray<float> matrices_;          // by launches
  DeviceArray<double> shares_;           // by launches and by cooperation
  DeviceArray<std::uint64_t> exchange_;  // by cooperation
  std::uint32_t last_tag_ = 0;           // of what is in exchange_
  std::optional<Recorded> recorded_;
};

}  // namespace mnistd::gpu::hip
