#include "gpu/platform/emulator/fiber.h"

#include <boost/context/detail/fcontext.hpp>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "gpu/platform/emulator/sanitizers.h"

namespace mnistd::gpu::emulator {
namespace {

// Address space; only pages that are touched take memory. Kernels hold accumulators there, the sanitizers much more.
constexpr std::size_t kStackBytes = 256 * 1024;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

namespace fcontext = boost::context::detail;

// Boost's types stay out of the header: kernels include it.
struct Fiber::Switch {
  static void enter(fcontext::transfer_t transfer) {
    Fiber& fiber = *static_cast<Fiber*>(transfer.data);
    announce_arrival(nullptr, &fiber.caller_stack_, &fiber.caller_stack_bytes_);
    fiber.caller_ = transfer.fctx;
    fiber.live();
  }
};

Fiber::Fiber() {
  const std::size_t guard = page_bytes();
  void* mapping = mmap(nullptr, guard + kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (mprotect(mapping_, guard, PROT_NONE) != 0) {
    munmap(mapping_, guard + kStackBytes);
    throw std::bad_alloc();
  }
  stack_ = mapping_ + guard;
  context_ = fcontext::make_fcontext(stack_ + kStackBytes, kStackBytes, &Switch::enter);
  history_ = make_history();
}

Fiber::~Fiber() {
  ending_ = true;
  resume();
  drop_history(history_);
  munmap(mapping_, page_bytes() + kStackBytes);
}

void Fiber::begin(Task task, void* context) {
  task_ = task;
  task_context_ = context;
}

void Fiber::forget() { task_ = nullptr; }

void Fiber::resume() {
  void* fake_stack = nullptr;
  announce_switch(&fake_stack, stack_, kStackBytes);
  caller_history_ = current_history();
  switch_history(history_);
  context_ = fcontext::jump_fcontext(context_, this).fctx;
  announce_arrival(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() { leave(false); }

void Fiber::leave(bool for_good) {
  announce_switch(for_good ? nullptr : &fake_stack_, caller_stack_, caller_stack_bytes_);
  switch_history(caller_history_);
  caller_ = fcontext::jump_fcontext(caller_, nullptr).fctx;
  announce_arrival(fake_stack_, &caller_stack_, &caller_stack_bytes_);
}

void Fiber::live() {
  while (!ending_) {
    task_(task_context_);
    task_ = nullptr;
    leave(false);
  }
  leave(true);
}

}  // namespace mnistd::gpu::emulator
