// What the processor reaches at most: a copy, and loops of multiply-adds in registers, on all threads at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device.h"

namespace mnistd::gpu::cpu {

// The least time of a few runs counts, as that was disturbed least.
Limits measure_limits(int threads, std::uint64_t cache_bytes);

// Memory that the last cache can't hold a part worth mentioning of.
std::size_t bytes_beyond_cache(std::uint64_t cache_bytes);

// `rounds` rounds of twelve chains of multiply-adds on vectors of floats, and of ten on 16-bit integers, added in pairs into
// 32-bit sums: the widest exact way to multiply bytes that every processor has. As many chains as cover the latency of two
// a cycle and fit sixteen registers.
struct LoopResult {
  double operations;  // multiply-adds, each counted as two
  double value;       // of no interest, but must not be left out
};
LoopResult float_loop(int rounds);
LoopResult byte_loop(int rounds);

}  // namespace mnistd::gpu::cpu
