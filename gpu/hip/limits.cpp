#include "gpu/hip/limits.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "gpu/hip/device_memory.h"
#include "gpu/hip/stream_event.h"
#include "gpu/kernels/kernels.h"

namespace mnistd::gpu::hip {
namespace {

constexpr int kBlocksAComputeUnit = 8;  // 2,048 threads: all that one holds, or nearly
constexpr int kMostRounds = 1 << 16;
constexpr double kLongEnough = 2.0;  // ms: beside it a launch is nothing
constexpr int kLaunches = 5;

double milliseconds_of(hipStream_t stream, const std::function<void()>& launch) {
  const StreamEvent begin;
  const StreamEvent end;
  begin.record(stream);
  launch();
  end.record(stream);
  end.synchronize();
  return end.milliseconds_since(begin);
}

double least_milliseconds(hipStream_t stream, const std::function<void()>& launch) {
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kLaunches; ++k) least = std::min(least, milliseconds_of(stream, launch));
  return least;
}

double bytes_a_second(hipStream_t stream, const DeviceInfo& info) {
  const std::size_t wanted = std::min<std::size_t>(4 * bytes_beyond_cache(info), info.memory_bytes / 8);
  const std::size_t bytes =
      std::max<std::size_t>(wanted / kernels::kLimitCopyBytes, 1) * kernels::kLimitCopyBytes;
  DeviceArray<std::uint8_t> from(bytes);
  DeviceArray<std::uint8_t> to(bytes);
  MNISTD_HIP_CHECK(hipMemsetAsync(from.data(), 1, bytes, stream));
  const auto copy = [&] { kernels::limit_copy(stream, from.data(), to.data(), bytes); };
  copy();
  return 2.0 * static_cast<double>(bytes) / least_milliseconds(stream, copy) * 1e3;
}

// Of chains of operations: how many a second. Rounds are doubled until a launch is long enough.
template <class Value>
double operations_a_second(hipStream_t stream, int compute_units,
                           void (*launch)(hipStream_t, int, int, Value*)) {
  const int blocks = kBlocksAComputeUnit * compute_units;
  DeviceArray<Value> sink(static_cast<std::size_t>(blocks) * kernels::kLimitThreads);
  int rounds = 8;
  const auto run = [&] { launch(stream, blocks, rounds, sink.data()); };
  run();
  while (milliseconds_of(stream, run) < kLongEnough && rounds < kMostRounds) rounds *= 2;
  const double operations = static_cast<double>(sink.size()) * rounds * kernels::kLimitChains;
  return operations / least_milliseconds(stream, run) * 1e3;
}

}  // namespace

std::size_t bytes_beyond_cache(const DeviceInfo& info) {
  constexpr std::size_t kUnknownCache = std::size_t{64} << 20;
  return 4 * (info.cache_bytes > 0 ? static_cast<std::size_t>(info.cache_bytes) : kUnknownCache);
}

Limits measure_limits(hipStream_t stream, const DeviceInfo& info) {
  Limits limits;
  limits.bytes = bytes_a_second(stream, info);
  limits.flops = 2 * operations_a_second(stream, info.compute_units, kernels::limit_fma);
  limits.byte_operations = 8 * operations_a_second(stream, info.compute_units, kernels::limit_dot4);
  return limits;
}

}  // namespace mnistd::gpu::hip
