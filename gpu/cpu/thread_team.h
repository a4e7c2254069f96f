// A small persistent team of threads that shares out numbered tasks.
//
// How it works. run(n, f) publishes one job: a function, the number of tasks and an atomic counter. Whoever is awake
// takes the next number from the counter and calls f with it, the calling thread included, until the numbers are used
// up. The caller then closes the job and waits for those members that had entered it; a member that wakes too late
// finds the job closed and sleeps on, so a short job never waits for a slow wake-up. Tasks are taken up dynamically:
// a core that the operating system borrows for something else costs one task, not a share of the whole.
//
// Which member runs a task is left to chance. Whoever needs results that do not depend on the number of threads cuts
// the work into tasks by the data alone and gives each its own place for the result.
//
// Why not OpenMP: the thread sanitizer does not see the barriers of GNU's libgomp and reports races that are none; a
// team of OpenMP is tied to the thread that first opened it; an exception cannot leave a parallel region; and its
// threads take the process's signals, whereas these block all asynchronous ones, so that SIGTERM reaches the thread
// that waits for it. Why not spin while waiting: the daemon shares its machine, and a wake-up costs some 10 µs. Where many
// short jobs follow each other, they are rounds of one (task_rounds.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace mnistd::gpu::cpu {

class ThreadTeam {
 public:
  // `threads` ≥ 1 in all, the caller of run() counted: 1 starts no thread. Throws DeviceError if one cannot start.
  explicit ThreadTeam(int threads);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  int size() const { return static_cast<int>(members_.size()) + 1; }

  // Calls function(task, member) once for every task below `tasks` and returns when all are done. `member` is below
  // size(), and no two calls with the same member overlap: it may index scratch memory. If a call throws, tasks not
  // yet begun are dropped and the first exception is rethrown here. One caller at a time; a task must not call run
  // on its own team (std::logic_error).
  template <class Function>
  void run(std::size_t tasks, Function&& function) {
    using Plain = std::remove_reference_t<Function>;
    run_job(
        {[](void* context, std::size_t task, int member) { (*static_cast<Plain*>(context))(task, member); },
         const_cast<void*>(static_cast<const void*>(&function)), tasks});
  }

 private:
  struct Job {
    void (*call)(void* context, std::size_t task, int member) = nullptr;
    void* context = nullptr;
    std::size_t tasks = 0;
  };

  void run_job(const Job& job);
  void work(const Job& job, int member) noexcept;
  void live(int member);
  void dismiss();

  std::mutex mutex_;
  std::condition_variable job_opened_;
  std::condition_variable member_left_;
  Job job_;                         // under mutex_
  bool open_ = false;               // under mutex_: members may enter job_
  bool running_ = false;            // under mutex_: a run() is on its way
  bool dismissed_ = false;          // under mutex_
  std::uint64_t generation_ = 0;    // under mutex_: of job_
  int inside_ = 0;                  // under mutex_: members working on job_
  std::exception_ptr first_error_;  // under mutex_
  std::atomic<std::size_t> next_task_{0};
  std::vector<std::thread> members_;
};

}  // namespace mnistd::gpu::cpu
