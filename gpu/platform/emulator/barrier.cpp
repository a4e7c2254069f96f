// The calls of kernels that need no more of the scheduler than a wait.
#include <string>

#include "gpu/platform/emulator/atomics.h"
#include "gpu/platform/emulator/processor.h"

void __syncthreads(const char* file, int line) {
  mnistd::gpu::emulator::Processor::of_this_thread().wait_at_barrier({file, line});
}

namespace mnistd::gpu::emulator {

void misaligned_store(int first) {
  Processor::of_this_thread().fail("four words are stored to shared memory from element " +
                                   std::to_string(first) + " of a row on: no multiple of four");
}

void wait_in_vain() {
  Processor::of_this_thread().fail(
      "a thread waits for what another block is to store: with the blocks that run at once, here one, it "
      "never comes");
}

void before_atomic() { Processor::of_this_thread().give_way(); }

}  // namespace mnistd::gpu::emulator
