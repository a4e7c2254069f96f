// The time of shared memory: which thread of the block runs, and between which barriers.
#pragma once

#include <cstdint>

namespace mnistd::gpu::emulator {

struct Clock {
  std::uint32_t interval = 0;     // counts on at each block's start and at each barrier; never 0 in a kernel
  std::uint32_t block_begin = 0;  // the interval at which this block started
  std::uint16_t thread = 0;       // linear index in the block
};

// Set by the scheduler. A plain global, as shared memory is: blocks run one after the other.
inline Clock now;

}  // namespace mnistd::gpu::emulator
