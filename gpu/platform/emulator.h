// The emulator: a GPU on which the very sources of our kernels run on the CPU, compiled by any C++ compiler, with the
// sanitizers switched on.
//
// Why. None of us has the card. A kernel's arithmetic can be checked on the CPU with a copy of its formula; whether its
// tiles fit at the edges, whether a barrier is missing, whether lane 37 reads a lane that has left, can't. So the same
// file is compiled here against HIP's names, and wrong programs that a GPU may run without a word are stopped with a
// sentence.
//
// How it works. A launch runs its blocks one after the other, on the calling thread, in an order that is shuffled. The
// threads of a block are fibers (emulator/fiber.h): each runs until it waits, at a barrier, for the other lanes of its
// wavefront, or before an atomic operation; then another that is drawn by chance goes on (emulator/processor.h). All
// chance comes from one seed, MNISTD_EMULATOR_SEED, which is in the message of every fault. A kernel must compute the
// same with every seed; one that does not depends on an order that no GPU promises.
//
// What stops a kernel, as EmulatorFault out of hipLaunchKernelGGL:
//   - a barrier that not all threads of the block reach, or threads at different barriers;
//   - a shuffle that reads a lane that takes no part in it: ended, or waiting elsewhere (emulator/exchange.h);
//   - shared memory used past an end of any dimension, read before this block wrote it, or used by two threads without
//     a barrier between (emulator/shared.h). For that shared arrays are declared platform::Shared<float, 16, 65>; a
//     plain `__shared__ float x[64]` works and is not watched.
// Global memory is plain memory: AddressSanitizer watches its ends, and that the host does not touch it; uninitialised it
// reads as NaN. Launches and calls that HIP refuses are refused with HIP's errors (emulator/hip_api.h).
//
// What it can't see: two blocks or threads that race on global memory between two waits; a kernel whose threads spin on
// a flag (it hangs here); a missing hipStreamSynchronize, as streams run their work at once; a block larger than its
// kernel's __launch_bounds__, which the compilers for GPUs know; and speed.
//
// Why fibers and not threads: a thousand threads that meet at barriers cost a thousand times the switch, are not
// repeatable, and ThreadSanitizer would have to guess what fibers let us know. Why not a loop over the threads of a block
// between barriers, as OpenCL on CPUs does: that needs a compiler of its own.
#pragma once

#include <cstdint>

#include "gpu/platform/emulator/atomics.h"
#include "gpu/platform/emulator/device_math.h"
#include "gpu/platform/emulator/exchange.h"
#include "gpu/platform/emulator/fault.h"
#include "gpu/platform/emulator/hip_api.h"
#include "gpu/platform/emulator/index.h"
#include "gpu/platform/emulator/launch.h"
#include "gpu/platform/emulator/shared.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static
#define __launch_bounds__(...)

// All threads of the block wait for one another, and then see what each wrote.
void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE());

namespace mnistd::gpu::platform {

inline constexpr int kSmallestWavefront = 32;

template <class T, int... shape>
using Shared = emulator::Shared<T, shape...>;

// Lanes of a wavefront. Known at compile time here, on no GPU: so kernels can't use it as a constant.
inline int wavefront_size() { return emulator::kWavefront; }

// Byte 0 (the lowest) to 3 of a word as a float.
inline float byte_to_float(std::uint32_t word, int index) {
  return static_cast<float>(word >> (8 * index) & 0xff);
}

inline std::uint32_t dot4(std::uint32_t left, std::uint32_t right, std::uint32_t sum) {
  for (int shift = 0; shift < 32; shift += 8) sum += (left >> shift & 0xff) * (right >> shift & 0xff);
  return sum;
}

}  // namespace mnistd::gpu::platform
