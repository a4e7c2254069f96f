// The one place that knows whose device it is. Kernels and host code are spelled in HIP; what stands behind the names is
// chosen by the build, which defines exactly one of MNISTD_PLATFORM_AMD, MNISTD_PLATFORM_NVIDIA and
// MNISTD_PLATFORM_EMULATOR.
//
// Beside HIP's names a platform gives, in namespace mnistd::gpu::platform:
//   Shared<T, N...>        arrays for __shared__: plain arrays on a GPU, watched ones on the emulator
//   wavefront_size()       lanes that run in step; known in device code only
//   kSmallestWavefront     what shared memory that holds a value a wavefront is sized by
//   uniform(i)             the same integer, known to be the same in all lanes, so that it may live in a scalar register
//   kScalarOperands        whether an operand that is the same in all lanes may come from a scalar register, and so costs nothing
//   float_bits, float_of_bits   a float's bits, and back
//   large_shared<T>(), launch_with_large_shared<T>(…)   one T, a struct of Shared arrays, for all of a block: it may be larger
//                          than static arrays can be on NVIDIA
//   keep_order()           the compiler moves no instruction past this: where its own order costs more registers than it saves time
//   Four<T>                four values that are loaded as one; load_four and store_four do so in a row of a Shared array that
//                          is declared alignas(16), from an index that is a multiple of four
//   byte_to_float(w, i)    byte i of a word as a float: one instruction on AMD where i is known at compile time
//   dot4(a, b, sum)        sum + Σ byte i of a · byte i of b, unsigned, modulo 2³²: one instruction on gfx906 and on sm_61 up
//   permute_bytes<s>(a, b) the word whose byte k is byte (s >> 4k & 7) of a, 0 to 3, and b, 4 to 7
//   store_four(row, k, v)  row[k .. k + 4) = v, in shared memory, k a multiple of 4 and row aligned to 16 bytes
//   load_across_blocks(p), store_across_blocks(p, v)
//                          64 bits that blocks which run at the same time hand to one another: whole, past the caches
//                          that blocks do not share; in no order with other memory
//   wait_for_blocks()      what a thread does before it looks again for what another block stores
//   kHasByteMatrices       whether there is multiply_byte_matrices(a, b, sums): 32 lanes, each with the words a[4], b[2] and
//                          sums[4], multiply 16×32 bytes by 32×8. Lane 4g + t holds of rows g and g + 8 the four bytes t
//                          (a[0], a[1]) and t + 4 (a[2], a[3]), of column g the same (b[0], b[1]), and the sums of those
//                          rows and columns 2t and 2t + 1, modulo 2³². Then there are also
//   multiply_signed_bytes(a, b, sums)   the same of signed bytes in a
//   fetch(p)               has the line at p brought into the second-level cache
// Shuffles reach all lanes of a wavefront: every lane must take part. A ballot has 64 bits everywhere.
#pragma once

#if defined(MNISTD_PLATFORM_AMD)
#include "gpu/platform/amd.h"
#elif defined(MNISTD_PLATFORM_NVIDIA)
#include "gpu/platform/nvidia.h"
#elif defined(MNISTD_PLATFORM_EMULATOR)
#include "gpu/platform/emulator.h"
#else
#error "the build must define MNISTD_PLATFORM_AMD, MNISTD_PLATFORM_NVIDIA or MNISTD_PLATFORM_EMULATOR"
#endif
