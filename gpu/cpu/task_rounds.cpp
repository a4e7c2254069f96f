#include "gpu/cpu/task_rounds.h"

#include <thread>

namespace mnistd::gpu::cpu {
namespace {

// About 10 µs: more than two cores differ by at the end of a round, less than a time slice.
constexpr int kSpins = 500;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

TaskRounds::TaskRounds(std::uint32_t rounds, std::vector<std::uint32_t> tasks, int members)
    : rounds_(rounds),
      tasks_(std::move(tasks)),
      members_(static_cast<std::uint32_t>(members)),
      spans_(std::make_unique<Span[]>(members_)) {
  // Of no round yet: the first round is claimed as any other.
  for (std::uint32_t k = 0; k < members_; ++k)
    spans_[k].next.store(~std::uint64_t{0}, std::memory_order_relaxed);
}

bool TaskRounds::claim(std::uint32_t round, std::uint32_t span, std::uint32_t tasks, std::uint32_t* task) {
  const std::uint64_t begin = std::uint64_t{tasks} * span / members_;
  const std::uint64_t end = std::uint64_t{tasks} * (span + 1) / members_;
  std::uint64_t now = spans_[span].next.load(std::memory_order_relaxed);
  for (;;) {
    const auto ahead = static_cast<std::int32_t>(static_cast<std::uint32_t>(now >> 32) - round);
    if (ahead > 0) return false;  // we come late: the round is over
    const std::uint64_t next = ahead < 0 ? begin : now & 0xffffffff;
    if (next >= end) return false;
    if (spans_[span].next.compare_exchange_weak(now, (std::uint64_t{round} << 32) | (next + 1),
                                                std::memory_order_relaxed)) {
      *task = static_cast<std::uint32_t>(next);
      return true;
    }
  }
}

bool TaskRounds::wait_for(std::uint32_t own, std::uint64_t goal) {
  if (own > 0) done_.fetch_add(own, std::memory_order_acq_rel);
  for (int looks = 0;; ++looks) {
    const std::uint64_t done = done_.load(std::memory_order_acquire);
    if (done >= kFailed) return false;
    if (done >= goal) return true;
    if (looks < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace mnistd::gpu::cpu
