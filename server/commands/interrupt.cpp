#include "server/commands/interrupt.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

namespace mnistd::commands {
namespace {

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

InterruptToStop::InterruptToStop() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  thread_ = std::jthread([this](const std::stop_token& end) {
    const sigset_t waited_for = interrupts();
    constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};
    while (!end.stop_requested())
      if (sigtimedwait(&waited_for, nullptr, &kPause) > 0 && !stop_.request_stop()) _exit(1);
  });
}

InterruptToStop::~InterruptToStop() {
  thread_.request_stop();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace mnistd::commands
