#include "gpu/platform/emulator/processor.h"

#include <limits>
#include <utility>

#include "gpu/platform/emulator/clock.h"

namespace mnistd::gpu::emulator {
namespace {

// Thrown on a fiber whose block has failed elsewhere. Derives from nothing: no handler of a kernel is meant to see it.
struct Unwind {};

std::uint64_t volume(const dim3& size) { return std::uint64_t{size.x} * size.y * size.z; }

uint3 index_in(std::uint64_t number, const dim3& size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

void next_interval() {
  if (now.interval == std::numeric_limits<std::uint32_t>::max())
    throw EmulatorFault(
        "the emulator has seen 2³² barriers and blocks, and its clock of shared memory ends there");
  ++now.interval;
}

}  // namespace

Processor& Processor::of_this_thread() {
  static thread_local Processor processor;
  return processor;
}

void Processor::run(const Grid& grid) {
  const std::uint64_t blocks = volume(grid.blocks);
  std::vector<std::uint64_t> order(blocks);
  for (std::uint64_t block = 0; block < blocks; ++block) order[block] = block;
  count_ = static_cast<int>(volume(grid.threads));
  random_ = Random(Random(grid.seed).next() ^ grid.number);
  uncaught_outside_ = std::uncaught_exceptions();
  gridDim = grid.blocks;
  blockDim = grid.threads;

  struct Running {
    Processor& processor;
    ~Running() { processor.grid_ = nullptr; }
  } ends_with_this_call{*this};
  grid_ = &grid;
  prepare();
  for (std::uint64_t left = blocks; left > 0; --left) {
    std::swap(order[random_.below(left)], order[left - 1]);
    run_block(index_in(order[left - 1], grid.blocks));
  }
}

void Processor::prepare() {
  const auto count = static_cast<std::size_t>(count_);
  if (threads_.size() < count) threads_.resize(count);
  for (std::size_t number = 0; number < count; ++number) {
    Thread& thread = threads_[number];
    if (thread.fiber == nullptr) thread.fiber = std::make_unique<Fiber>();
    thread.processor = this;
    thread.number = static_cast<int>(number);
    thread.index = index_in(number, grid_->threads);
  }
  ready_.reserve(count);
}

void Processor::run_block(uint3 index) {
  blockIdx = index;
  next_interval();
  now.block_begin = now.interval;
  try {
    start_threads();
    while (!ready_.empty()) {
      const std::size_t drawn = random_.below(ready_.size());
      Thread& thread = threads_[static_cast<std::size_t>(ready_[drawn])];
      ready_[drawn] = ready_.back();
      ready_.pop_back();
      step(thread);
    }
    if (at_barrier_ > 0) refuse_partial_barrier();
  } catch (...) {
    unwind_all();
    throw;
  }
}

void Processor::start_threads() {
  wavefronts_.assign(static_cast<std::size_t>((count_ + kWavefront - 1) / kWavefront), Wavefront());
  ready_.clear();
  at_barrier_ = 0;
  for (int number = 0; number < count_; ++number) {
    Thread& thread = threads_[static_cast<std::size_t>(number)];
    thread.state = State::ready;
    thread.place = thread.last_barrier = Place();
    thread.unwinding = thread.started = false;
    thread.fiber->begin(&Processor::run_thread, &thread);
    ++wavefronts_[static_cast<std::size_t>(number / kWavefront)].running;
    ready_.push_back(number);
  }
}

void Processor::run_thread(void* context) noexcept {
  Thread& thread = *static_cast<Thread*>(context);
  const Kernel& kernel = thread.processor->grid_->kernel;
  try {
    kernel.call(kernel.arguments);
  } catch (const Unwind&) {
    // Its stack is unwound: that was all.
  } catch (...) {
    thread.error = std::current_exception();
  }
  thread.state = State::ended;
}

// Lets one thread run until it waits, then does what that makes possible.
void Processor::step(Thread& thread) {
  current_ = &thread;
  threadIdx = thread.index;
  now.thread = static_cast<std::uint16_t>(thread.number);
  thread.started = true;
  thread.fiber->resume();
  if (thread.error != nullptr) std::rethrow_exception(std::exchange(thread.error, nullptr));
  if (thread.state == State::ready) {
    ready_.push_back(thread.number);
  } else {
    settle(thread);
  }
}

void Processor::settle(Thread& thread) {
  const int number = thread.number / kWavefront;
  Wavefront& wavefront = wavefronts_[static_cast<std::size_t>(number)];
  --wavefront.running;
  if (thread.state == State::at_exchange) ++wavefront.at_exchange;
  if (thread.state == State::at_barrier && ++at_barrier_ == count_) open_barrier();
  if (wavefront.running == 0 && wavefront.at_exchange > 0) exchange_lanes(number);
}

void Processor::open_barrier() {
  const Place place = threads_[0].place;
  for (int number = 0; number < count_; ++number) {
    Thread& thread = threads_[static_cast<std::size_t>(number)];
    if (thread.place == place) continue;
    current_ = &thread;
    fail("threads of one block wait at different barriers: this one at " + to_string(thread.place) +
         ", thread 0 at " + to_string(place));
  }
  for (int number = 0; number < count_; ++number) {
    Thread& thread = threads_[static_cast<std::size_t>(number)];
    thread.state = State::ready;
    thread.last_barrier = place;
    ready_.push_back(number);
    ++wavefronts_[static_cast<std::size_t>(number / kWavefront)].running;
  }
  at_barrier_ = 0;
  next_interval();
}

// No thread can go on, and some wait at a barrier: the others have ended.
void Processor::refuse_partial_barrier() {
  const Thread* ended = nullptr;
  for (int number = count_ - 1; number >= 0; --number) {
    Thread& thread = threads_[static_cast<std::size_t>(number)];
    if (thread.state == State::ended) ended = &thread;
    if (thread.state == State::at_barrier) current_ = &thread;
  }
  fail("the barrier at " + to_string(current_->place) + " is reached by " + std::to_string(at_barrier_) +
       " of " + std::to_string(count_) + " threads; thread " + std::to_string(ended->number) +
       " has ended, as have " + std::to_string(count_ - at_barrier_ - 1) + " others; this one waits");
}

void Processor::unwind_all() noexcept {
  unwinding_all_ = true;
  for (int number = 0; number < count_; ++number) {
    Thread& thread = threads_[static_cast<std::size_t>(number)];
    if (!thread.fiber->has_task()) continue;
    if (!thread.started) {
      thread.fiber->forget();
      continue;
    }
    current_ = &thread;
    threadIdx = thread.index;
    now.thread = static_cast<std::uint16_t>(number);
    thread.fiber->resume();
    thread.error = nullptr;  // what a destructor threw after the first fault
  }
  unwinding_all_ = false;
}

void Processor::wait(State state, const Place& place) {
  Thread& thread = *current_;
  if (thread.unwinding || std::uncaught_exceptions() > uncaught_outside_) return;
  thread.state = state;
  thread.place = place;
  thread.fiber->suspend();
  if (!unwinding_all_) return;
  thread.unwinding = true;
  throw Unwind();
}

void Processor::wait_at_barrier(const Place& place) { wait(State::at_barrier, place); }

void Processor::give_way() { wait(State::ready, current_->place); }

int Processor::lane() const { return current_->number % kWavefront; }

}  // namespace mnistd::gpu::emulator
