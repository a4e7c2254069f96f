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

// Whether HIP takes the launch; what it refuses leaves its error for hipGetLastError. Throws EmulatorFault where the emulator
// does not.
bool admits(const char* name, dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, hipStream_t stream);

// Runs a kernel, whose launch was admitted, to its end. Throws EmulatorFault, or what the kernel threw; then every thread's
// stack is unwound already. One at a time: others wait.
void run(const Kernel& kernel, dim3 grid, dim3 block);

// A kernel with its arguments, in the types of its parameters.
template <class... Parameters>
struct Call {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  void make(const char* name, dim3 grid, dim3 block) const {
    const auto call = [](const void* context) {
      const Call& to_make = *static_cast<const Call*>(context);
      std::apply(to_make.kernel, to_make.arguments);
    };
    run(Kernel{name, call, this}, grid, block);
  }
};

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t dynamic_shared_bytes, hipStream_t stream, Arguments&&... arguments) {
  if (!admits(name, grid, block, dynamic_shared_bytes, stream)) return;
  const Call<Parameters...> call{kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)};
  if (is_recording(stream)) {
    record(stream, [=] { call.make(name, grid, block); });
  } else {
    call.make(name, grid, block);
  }
}

template <class... Parameters, std::size_t... indices>
Call<Parameters...> call_with(void (*kernel)(Parameters...), void** arguments,
                              std::index_sequence<indices...>) {
  return {kernel, std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[indices])...)};
}

}  // namespace mnistd::gpu::emulator

#define hipLaunchKernelGGL(kernel, grid, block, dynamic_shared_bytes, stream, ...)            \
  ::mnistd::gpu::emulator::launch(#kernel, (kernel), (grid), (block), (dynamic_shared_bytes), \
                                  (stream)__VA_OPT__(, ) __VA_ARGS__)

// arguments: a pointer to each. One block only, as no more run at once: more are refused, as HIP refuses more than the device
// runs. Not recorded.
template <class... Parameters>
hipError_t hipLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                      unsigned dynamic_shared_bytes, hipStream_t stream) {
  namespace emulator = mnistd::gpu::emulator;
  if (!emulator::admits("of a cooperative launch", grid, block, dynamic_shared_bytes, stream))
    return hipGetLastError();
  if (grid.x * grid.y * grid.z > 1) return emulator::remember(hipErrorCooperativeLaunchTooLarge);
  if (emulator::is_recording(stream)) return emulator::remember(hipErrorStreamCaptureUnsupported);
  emulator::call_with(kernel, arguments, std::index_sequence_for<Parameters...>())
      .make("of a cooperative launch", grid, block);
  return hipSuccess;
}
