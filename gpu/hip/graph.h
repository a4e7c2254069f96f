// A recording of work put on a stream, which is put there again as a whole: the driver takes it with one call.
#pragma once

#include <optional>
#include <utility>

#include "gpu/hip/check.h"

namespace mnistd::gpu::hip {

class Graph {
 public:
  // What `work` puts on the stream, recorded in place of done. None where the runtime has no graphs, or none of this work.
  // What `work` throws is thrown on.
  template <class Work>
  static std::optional<Graph> record(hipStream_t stream, Work work) {
    if (const hipError_t error = hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal);
        error != hipSuccess) {
      forget(error);
      return std::nullopt;
    }
    hipGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      if (hipStreamEndCapture(stream, &graph) == hipSuccess) forget(hipGraphDestroy(graph));
      forget(hipGetLastError());
      throw;
    }
    if (const hipError_t error = hipStreamEndCapture(stream, &graph); error != hipSuccess) {
      forget(error);
      return std::nullopt;
    }
    Graph made;
    const hipError_t error = hipGraphInstantiate(&made.executable_, graph, nullptr, nullptr, 0);
    forget(error);
    forget(hipGraphDestroy(graph));
    if (error != hipSuccess) return std::nullopt;
    return made;
  }

  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  // What was launched must be done.
  ~Graph() {
    if (executable_ != nullptr) forget(hipGraphExecDestroy(executable_));
  }

  void launch(hipStream_t stream) const { MNISTD_HIP_CHECK(hipGraphLaunch(executable_, stream)); }

 private:
  Graph() = default;

  hipGraphExec_t executable_ = nullptr;
};

}  // namespace mnistd::gpu::hip
