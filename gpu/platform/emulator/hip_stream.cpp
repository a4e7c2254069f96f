// Streams, and graphs, which are what was recorded from one; see hip_api.h. A stream does its work as it gets it, so all that
// it holds is a recording.
#include <optional>
#include <utility>
#include <vector>

#include "gpu/platform/emulator/handles.h"
#include "gpu/platform/emulator/hip_api.h"

using Recording = std::vector<std::function<void()>>;

struct ihipStream_t {
  std::optional<Recording> recording;
};
struct ihipGraph {
  Recording work;
};
struct hipGraphExec {
  Recording work;
};

namespace mnistd::gpu::emulator {
namespace {

// Never destroyed: what a program's last static object gives back must still be known.
Handles<ihipStream_t>& streams() {
  static auto& handles = *new Handles<ihipStream_t>;
  return handles;
}
Handles<ihipGraph>& graphs() {
  static auto& handles = *new Handles<ihipGraph>;
  return handles;
}
Handles<hipGraphExec>& executables() {
  static auto& handles = *new Handles<hipGraphExec>;
  return handles;
}

hipError_t result(bool all_is_well, hipError_t otherwise) {
  return all_is_well ? hipSuccess : remember(otherwise);
}

}  // namespace

bool stream_exists(hipStream_t stream) { return stream == nullptr || streams().has(stream); }

bool is_recording(hipStream_t stream) {
  return stream != nullptr && streams().has(stream) && stream->recording.has_value();
}
void record(hipStream_t stream, std::function<void()> work) { stream->recording->push_back(std::move(work)); }

}  // namespace mnistd::gpu::emulator

namespace emulator = mnistd::gpu::emulator;

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > hipStreamNonBlocking) return emulator::remember(hipErrorInvalidValue);
  *stream = emulator::streams().add();
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return emulator::result(emulator::streams().remove(stream), hipErrorInvalidHandle);
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  if (emulator::is_recording(stream)) return emulator::remember(hipErrorStreamCaptureUnsupported);
  return emulator::result(emulator::stream_exists(stream), hipErrorInvalidHandle);
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
  if (stream == nullptr) return emulator::remember(hipErrorStreamCaptureUnsupported);
  if (!emulator::streams().has(stream)) return emulator::remember(hipErrorInvalidHandle);
  if (stream->recording.has_value()) return emulator::remember(hipErrorInvalidValue);
  stream->recording.emplace();
  return hipSuccess;
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  if (graph == nullptr || !emulator::is_recording(stream)) return emulator::remember(hipErrorInvalidValue);
  *graph = emulator::graphs().add(std::move(*stream->recording));
  stream->recording.reset();
  return hipSuccess;
}
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, void*, char*, std::size_t) {
  if (executable == nullptr || !emulator::graphs().has(graph))
    return emulator::remember(hipErrorInvalidValue);
  *executable = emulator::executables().add(graph->work);
  return hipSuccess;
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  if (!emulator::executables().has(executable)) return emulator::remember(hipErrorInvalidValue);
  if (!emulator::stream_exists(stream)) return emulator::remember(hipErrorInvalidHandle);
  if (emulator::is_recording(stream)) return emulator::remember(hipErrorStreamCaptureUnsupported);
  for (const std::function<void()>& work : executable->work) work();
  return hipSuccess;
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return emulator::result(emulator::graphs().remove(graph), hipErrorInvalidValue);
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return emulator::result(emulator::executables().remove(executable), hipErrorInvalidValue);
}
