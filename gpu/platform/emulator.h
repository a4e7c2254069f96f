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
//   - a thread that waits for what another block is to store: blocks that wait for one another run here as one block, to
//     which hipLaunchCooperativeKernel keeps them;
//   - shared memory used past an end of any dimension, read before this block wrote it, or used by two threads without
//     a barrier between (emulator/shared.h). For that shared arrays are declared platform::Shared<float, 16, 65>; a
//     plain `__shared__ float x[64]` works and is not watched.
// Global memory is plain memory: AddressSanitizer watches its ends, and that the host does not touch it; uninitialised it
// reads as NaN. Launches and calls that HIP refuses are refused with HIP's errors (emulator/hip_api.h).
//
// What it can't see: two blocks or threads that race on global memory between two waits; a kernel whose threads spin on
// a flag of their own making (it hangs here); a missing hipStreamSynchronize, as streams run their work at once; a block larger than its
// kernel's __launch_bounds__, which the compilers for GPUs know; and speed.
//
// Why fibers and not threads: a thousand threads that meet at barriers cost a thousand times the switch, are not
// repeatable, and ThreadSanitizer would have to guess what fibers let us know. Why not a loop over the threads of a block
// between barriers, as OpenCL on CPUs does: that needs a compiler of its own.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/platform/emulator/atomics.h"
#include "gpu/platform/emulator/device_math.h"
#include "gpu/platform/emulator/exchange.h"
#include "gpu/platform/emulator/fault.h"
#include "gpu/platform/emulator/hip_api.h"
#include "gpu/platform/emulator/index.h"
#include "gpu/platform/emulator/launch.h"
#include "gpu/platform/emulator/matrix.h"
#include "gpu/platform/emulator/shared.h"
#include "gpu/platform/four.h"

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
// As where the wavefront is as wide.
inline constexpr bool kScalarOperands = emulator::kWavefront == 64;
inline constexpr bool kHasByteMatrices = emulator::kWavefront == 32;

template <class T, int... shape>
using Shared = emulator::Shared<T, shape...>;

// Lanes of a wavefront. Known at compile time here, on no GPU: so kernels can't use it as a constant.
inline int wavefront_size() { return emulator::kWavefront; }

inline std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float float_of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

inline void keep_order() {}

// Lanes that bring different values would get the first one's on a GPU: a fault here.
inline int uniform(int value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (__shfl(value, 0, emulator::kWavefront, file, line) != value)
    throw emulator::EmulatorFault("uniform() of a value that differs between lanes");
  return value;
}

template <class T, class Row>
Four<T> load_four(const Row& row, int first) {
  return {{row[first], row[first + 1], row[first + 2], row[first + 3]}};
}
template <class T, class Row>
void store_four(Row& row, int first, const Four<T>& four) {
  for (int k = 0; k < 4; ++k) row[first + k] = four.value[k];
}

// Shared memory of a kernel beyond what static arrays may take; T holds Shared arrays.
template <class T>
T& large_shared() {
  static T block;
  return block;
}
template <class T, class... Parameters, class... Arguments>
void launch_with_large_shared(void (*kernel)(Parameters...), dim3 grid, dim3 block, hipStream_t stream,
                              Arguments... arguments) {
  hipLaunchKernelGGL(kernel, grid, block, 0, stream, arguments...);
}

inline void fetch(const void*) {}

// Byte 0 (the lowest) to 3 of a word as a float.
inline float byte_to_float(std::uint32_t word, int index) {
  return static_cast<float>(word >> (8 * index) & 0xff);
}

inline std::uint32_t dot4(std::uint32_t left, std::uint32_t right, std::uint32_t sum) {
  for (int shift = 0; shift < 32; shift += 8) sum += (left >> shift & 0xff) * (right >> shift & 0xff);
  return sum;
}

template <std::uint32_t selector>
std::uint32_t permute_bytes(std::uint32_t first, std::uint32_t second) {
  const std::uint64_t both = std::uint64_t{second} << 32 | first;
  std::uint32_t result = 0;
  for (int k = 0; k < 4; ++k) {
    result |= static_cast<std::uint32_t>(both >> 8 * (selector >> 4 * k & 7) & 0xff) << 8 * k;
  }
  return result;
}

template <int size>
void store_four(emulator::Row<emulator::Cell<std::uint32_t>, size>& row, int first,
                const std::uint32_t (&values)[4]) {
  static_assert(size % 4 == 0);
  if (first % 4 != 0) emulator::misaligned_store(first);
  for (int k = 0; k < 4; ++k) row[first + k] = values[k];
}

// Blocks run one after the other: what another block has yet to store, no thread can wait for.
inline std::uint64_t load_across_blocks(const std::uint64_t* memory) { return *memory; }
inline void store_across_blocks(std::uint64_t* memory, std::uint64_t value) { *memory = value; }
inline void wait_for_blocks() { emulator::wait_in_vain(); }

// As NVIDIA's mma.m16n8k32 is laid out: lane by lane what the other lanes of a row and of two columns hold.
inline void multiply_byte_matrices(const std::uint32_t (&left)[4], const std::uint32_t (&right)[2],
                                   std::uint32_t (&sums)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = lane & ~3;
  const int column = lane % 4 * 8;
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t upper = __shfl(left[2 * half], row + k);
      const std::uint32_t lower = __shfl(left[2 * half + 1], row + k);
      const std::uint32_t first = __shfl(right[half], column + k);
      const std::uint32_t second = __shfl(right[half], column + 4 + k);
      sums[0] = dot4(upper, first, sums[0]);
      sums[1] = dot4(upper, second, sums[1]);
      sums[2] = dot4(lower, first, sums[2]);
      sums[3] = dot4(lower, second, sums[3]);
    }
  }
}

}  // namespace mnistd::gpu::platform
