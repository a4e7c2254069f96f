// Ctrl-C as a stop token: SIGINT and SIGTERM ask a computation to stop and leave the program to end in its own way.
#pragma once

#include <stop_token>
#include <thread>

#include <signal.h>

namespace mnistd::commands {

// Lives around the computation. Make it before any other thread is started, so that the signals are blocked in all of
// them and reach only the one that waits here. A second signal ends the program at once.
class InterruptToStop {
 public:
  InterruptToStop();
  InterruptToStop(const InterruptToStop&) = delete;
  InterruptToStop& operator=(const InterruptToStop&) = delete;
  ~InterruptToStop();  // signals have their usual effect again

  std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t before_{};
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace mnistd::commands
