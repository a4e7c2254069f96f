// The one place that knows whose device it is. Kernels and host code are spelled in HIP; what stands behind the names is
// chosen by the build, which defines exactly one of MNISTD_PLATFORM_AMD, MNISTD_PLATFORM_NVIDIA and
// MNISTD_PLATFORM_EMULATOR.
//
// Beside HIP's names a platform gives, in namespace mnistd::gpu::platform:
//   Shared<T, N...>        arrays for __shared__: plain arrays on a GPU, watched ones on the emulator
//   wavefront_size()       lanes that run in step; known in device code only
//   kSmallestWavefront     what shared memory that holds a value a wavefront is sized by
//   byte_to_float(w, i)    byte i of a word as a float: one instruction on AMD where i is known at compile time
//   dot4(a, b, sum)        sum + Σ byte i of a · byte i of b, unsigned, modulo 2³²: one instruction on gfx906 and on sm_61 up
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
