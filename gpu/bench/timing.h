// How long an operation takes on its device, by the device's own events.
#pragma once

#include "gpu/bench/operations.h"
#include "gpu/bench/summary.h"

namespace mnistd::gpu::bench {

struct TimingEffort {
  int samples;             // of each kind
  double least_sample_ms;  // calls are repeated within a warm sample until it takes so long
  double most_seconds;     // for each kind; three samples are taken in any case
};
inline constexpr TimingEffort kThorough = {15, 2.0, 1.5};
inline constexpr TimingEffort kQuick = {3, 0.0, 0.2};

// In milliseconds, of one call or one iteration.
struct Timing {
  Summary warm;        // one after the other: what fits in the caches is there
  int calls_a_sample;  // or iterations
  Summary cold;        // a single one, its inputs only in memory
  Summary
      processor;  // of the warm samples: time of all threads on processors, which others on the machine disturb less
};

Timing time_operation(Workbench& bench, const Operation& operation, const TimingEffort& effort);

}  // namespace mnistd::gpu::bench
