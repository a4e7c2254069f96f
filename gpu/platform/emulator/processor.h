// The processor that runs a kernel's blocks, one after the other: the scheduler of the threads of a block.
//
// How it works. Each thread of the block is a task on a fiber. The scheduler draws one of the threads that can go on,
// lets it run until it waits (at a barrier, at an exchange between lanes, or to give way at an atomic operation) or
// ends, and draws again. The draw comes from the launch's random numbers, so that a seed gives one order, and what a
// kernel computes must not depend on the seed.
//
// A barrier opens when every thread of the block waits at it, and at the same line. An exchange between the lanes of a
// wavefront takes place when no lane of it can go on: those that wait at the same line take part, are "active", and
// the others are not. If lanes wait at different lines, the earlier line goes first, as hardware runs a loop to its
// end before the lanes that left it early go on.
//
// If no thread can go on and the block has not ended, the program is wrong. A fault, or an exception of a kernel, is
// first kept; then every fiber that is in the midst of its task is resumed with an exception that unwinds its stack,
// so that destructors run and nothing leaks; then the fault is thrown on. Waits of those destructors return at once.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "gpu/platform/emulator/exchange.h"
#include "gpu/platform/emulator/fault.h"
#include "gpu/platform/emulator/fiber.h"
#include "gpu/platform/emulator/launch.h"
#include "gpu/platform/emulator/random.h"

namespace mnistd::gpu::emulator {

// A launch that HIP would take.
struct Grid {
  Kernel kernel;
  dim3 blocks;
  dim3 threads;              // of a block: 1 to 1024
  std::uint64_t seed = 0;    // of the program
  std::uint64_t number = 0;  // of the launch since the seed was set
};

// Each thread of the operating system that launches kernels has its own, so that no fiber moves to another thread.
class Processor {
 public:
  static Processor& of_this_thread();

  Processor() = default;
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  // From outside of kernels.
  void run(const Grid& grid);
  bool running() const { return grid_ != nullptr; }

  // From within a kernel's thread, as are those below. Waits for all threads of the block.
  void wait_at_barrier(const Place& place);
  // Takes part in an exchange; see exchange.h for what comes back.
  std::uint64_t exchange(const Exchange& mine, const Place& place);
  // Lets other threads go on first, or not, as drawn.
  void give_way();
  int lane() const;
  // True while this thread's stack is unwound: its destructors must not wait, nor throw.
  bool unwinding() const { return current_->unwinding; }
  // Throws the fault of the current thread; `code` is an address in the kernel, or null.
  [[noreturn]] void fail(const std::string& what, const void* code = nullptr);

 private:
  enum class State { ready, at_barrier, at_exchange, ended };
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    Processor* processor = nullptr;
    int number = 0;
    uint3 index = {0, 0, 0};
    State state = State::ready;
    Place place;         // where it waits
    Place last_barrier;  // that it passed
    Exchange exchange;
    std::uint64_t received = 0;
    bool started = false;
    bool unwinding = false;
    std::exception_ptr error;
  };
  struct Wavefront {
    int running = 0;      // lanes that can go on
    int at_exchange = 0;  // lanes that wait for one another
  };

  static void run_thread(void* thread) noexcept;
  void prepare();
  void run_block(uint3 index);
  void start_threads();
  void step(Thread& thread);
  void settle(Thread& thread);
  void wait(State state, const Place& place);
  void open_barrier();
  void exchange_lanes(int wavefront);
  void refuse_partial_barrier();
  void unwind_all() noexcept;
  std::string lane_state(int number) const;
  std::string fault_text(const std::string& what, const Thread& thread, const void* code) const;

  const Grid* grid_ = nullptr;
  Random random_;
  int count_ = 0;                // threads of a block
  std::vector<Thread> threads_;  // at least count_; kept from launch to launch
  std::vector<Wavefront> wavefronts_;
  std::vector<int> ready_;
  int at_barrier_ = 0;
  Thread* current_ = nullptr;
  int uncaught_outside_ = 0;  // exceptions in flight on the host's stack; others are a kernel's own
  bool unwinding_all_ = false;
};

}  // namespace mnistd::gpu::emulator
