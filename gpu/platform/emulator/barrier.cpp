// The calls of kernels that need no more of the scheduler than a wait.
#include "gpu/platform/emulator/atomics.h"
#include "gpu/platform/emulator/processor.h"

void __syncthreads(const char* file, int line) {
  mnistd::gpu::emulator::Processor::of_this_thread().wait_at_barrier({file, line});
}

namespace mnistd::gpu::emulator {

void before_atomic() { Processor::of_this_thread().give_way(); }

}  // namespace mnistd::gpu::emulator
