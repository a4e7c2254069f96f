#include "gpu/cpu/thread_team.h"

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <signal.h>

#include "gpu/error.h"

namespace mnistd::gpu::cpu {
namespace {

// Blocks the signals that are sent to the process as a whole while threads are made, which inherit the mask. Those
// that a thread brings on itself stay open: a handler that prints a backtrace must still see them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

ThreadTeam::ThreadTeam(int threads) {
  if (threads < 1) throw DeviceError("a team needs at least one thread, not " + std::to_string(threads));
  const SignalsBlocked signals_blocked;
  try {
    members_.reserve(static_cast<std::size_t>(threads - 1));
    for (int member = 1; member < threads; ++member) members_.emplace_back([this, member] { live(member); });
  } catch (const std::system_error& error) {
    const std::size_t started = members_.size() + 1;
    dismiss();
    throw DeviceError("cannot start thread " + std::to_string(started + 1) + " of " +
                      std::to_string(threads) + " (" + error.what() +
                      "): ask for fewer threads, or raise the limit on processes");
  }
}

ThreadTeam::~ThreadTeam() { dismiss(); }

void ThreadTeam::dismiss() {
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
  }
  job_opened_.notify_all();
  for (std::thread& member : members_) member.join();
  members_.clear();
}

void ThreadTeam::run_job(const Job& job) {
  if (job.tasks == 0) return;
  const bool shared = job.tasks > 1 && !members_.empty();
  {
    const std::lock_guard lock(mutex_);
    if (running_) throw std::logic_error("ThreadTeam::run called while the team is at work");
    running_ = true;
    next_task_.store(0, std::memory_order_relaxed);
    if (shared) {
      job_ = job;
      open_ = true;
      ++generation_;
    }
  }
  if (shared) job_opened_.notify_all();
  work(job, 0);

  std::unique_lock lock(mutex_);
  open_ = false;
  member_left_.wait(lock, [this] { return inside_ == 0; });
  running_ = false;
  if (first_error_) std::rethrow_exception(std::exchange(first_error_, nullptr));
}

void ThreadTeam::work(const Job& job, int member) noexcept {
  for (;;) {
    const std::size_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= job.tasks) return;
    try {
      job.call(job.context, task, member);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_error_) first_error_ = std::current_exception();
      next_task_.store(job.tasks, std::memory_order_relaxed);
    }
  }
}

void ThreadTeam::live(int member) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    job_opened_.wait(lock, [&] { return dismissed_ || (open_ && generation_ != seen); });
    if (dismissed_) return;
    seen = generation_;
    const Job job = job_;
    ++inside_;
    lock.unlock();
    work(job, member);
    lock.lock();
    if (--inside_ == 0) member_left_.notify_one();
  }
}

}  // namespace mnistd::gpu::cpu
