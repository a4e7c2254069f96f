// A fiber: a stack of its own on which a function runs, stops in the middle, and goes on when it is told to.
//
// How it works. Boost.Context's jump_fcontext swaps stack pointer and saved registers, some ten nanoseconds. A Fiber
// runs one task after another on the same stack: starting a kernel's thousand threads block after block maps no memory.
// It ends only when it is destroyed, between tasks, and only then its stack is unmapped. Below each stack lies a page
// that can't be touched, so that a stack that overflows ends the program there and not in a neighbour.
//
// Why not boost::context::fiber: with that, the announcements to the sanitizers are compiled into Boost or are not
// there, and Debian's are not. AddressSanitizer must know whose stack is in use (it poisons around local variables and
// clears the poison of a stack that an exception leaves), ThreadSanitizer whose history it is; so each switch announces
// itself here.
#pragma once

#include <cstddef>

namespace mnistd::gpu::emulator {

// Stays on the operating system's thread that made it.
class Fiber {
 public:
  using Task = void (*)(void* context);

  Fiber();  // std::bad_alloc if there is no memory for a stack
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();  // between tasks only

  // Gives a fiber that has no task one, which the next resume starts. The task must not throw.
  void begin(Task task, void* context);
  // Takes a task back that no resume has started.
  void forget();
  bool has_task() const { return task_ != nullptr; }

  // Runs the task until it suspends or returns. Called from outside.
  void resume();
  // Goes back to who called resume. Called from within the task.
  void suspend();

 private:
  struct Switch;
  void live();
  void leave(bool for_good);

  std::byte* mapping_ = nullptr;
  std::byte* stack_ = nullptr;  // lowest address
  void* context_ = nullptr;     // where the fiber goes on
  void* caller_ = nullptr;      // where who resumed it goes on
  Task task_ = nullptr;
  void* task_context_ = nullptr;
  bool ending_ = false;

  // What the sanitizers want to be told, unused without them.
  void* fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
  void* history_ = nullptr;
  void* caller_history_ = nullptr;
};

}  // namespace mnistd::gpu::emulator
