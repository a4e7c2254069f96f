// hipLaunchKernelGGL, and the seed of the shuffle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "gpu/platform/emulator/hip_api.h"
#include "gpu/platform/emulator/index.h"

namespace mnistd::gpu::emulator {

// The seed from which every launch's shuffle follows: MNISTD_EMULATOR_SEED, else chosen by chance at the start.
std::uint64_t seed();
// Takes another, and counts launches from 0 again: the launches that follow run in the same order each time.
void set_seed(std::uint64_t seed);

// What one thread of a kernel runs.
struct Kernel {
  const char* name;
  void (*call)(const void* arguments);
  const void* arguments;
};

// Runs a kernel to its end. A launch that HIP refuses leaves its error for hipGetLastError. Throws EmulatorFault, or
// what the kernel threw; then every thread's stack is unwound already. One launch at a time: others wait.
void launch(const Kernel& kernel, dim3 grid, dim3 block, std::size_t dynamic_shared_bytes,
            hipStream_t stream);

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t dynamic_shared_bytes, hipStream_t stream, Arguments&&... arguments) {
  using Call = std::pair<void (*)(Parameters...), std::tuple<Parameters...>>;
  const Call call(kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...));
  const auto run = [](const void* context) {
    const Call& to_make = *static_cast<const Call*>(context);
    std::apply(to_make.first, to_make.second);
  };
  launch(Kernel{name, run, &call}, grid, block, dynamic_shared_bytes, stream);
}

}  // namespace mnistd::gpu::emulator

#define hipLaunchKernelGGL(kernel, grid, block, dynamic_shared_bytes, stream, ...)            \
  ::mnistd::gpu::emulator::launch(#kernel, (kernel), (grid), (block), (dynamic_shared_bytes), \
                                  (stream)__VA_OPT__(, ) __VA_ARGS__)
