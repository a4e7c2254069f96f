// A thread for each live connection, made on demand up to a bound.
//
// httplib gives a connection to its task queue and the task lives as long as the connection: for an event stream, hours.
// A fixed pool with a queue (httplib's own) would stop answering as soon as that many streams are open. Here every
// connection gets a thread at once: an idle one, else a new one; a thread that has been idle for a while retires. Threads
// that wait cost a stack's address space and little else.
//
// The bound has two steps. The last `reserve` threads serve connections as *overflow*: they answer health checks, tell
// everybody else 503 and close, so that a full server says so at once. When these are used up too, a connection is refused
// (newer httplib closes it when enqueue says false; 0.11 has no way to refuse, so accepting waits a little for an overflow
// thread, which keeps no connection, and then lets the connection wait).
//
// shutdown() ends in bounded time: connections that wait for a next request are woken by shutting their receiving side, the
// others have `grace` to finish, then they are cut.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include <httplib.h>

namespace mnistd::api {

struct ConnectionLimits {
  std::size_t threads = 512;  // with the reserve
  std::size_t reserve = 64;
  std::chrono::milliseconds idle{10'000};
  std::chrono::milliseconds grace{4'000};
  std::chrono::milliseconds patience{1'000};  // of accepting, where a connection can't be refused
};

class ConnectionPool : public httplib::TaskQueue {
 public:
  enum class Cut { receiving, both };
  // `cut` shuts one side or both of every open connection; called from shutdown() only.
  ConnectionPool(ConnectionLimits limits, std::function<void(Cut)> cut);
  ~ConnectionPool() override;

  // void in httplib before 0.15, bool (false: not taken) since.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::function<void()>()));
  Enqueued enqueue(std::function<void()> task) override;
  void shutdown() override;

  std::size_t threads() const;  // alive

  // Whether the calling thread serves a connection beyond the bound.
  static bool is_overflow();

 private:
  bool take(std::function<void()>& task, bool wait);
  void serve(std::list<std::thread>::iterator self);
  void join_retired();

  const ConnectionLimits limits_;
  const std::function<void(Cut)> cut_;
  mutable std::mutex mutex_;
  std::condition_variable work_;     // a task or the end, for idle threads
  std::condition_variable changed_;  // a thread is free or gone, for enqueue and shutdown
  std::deque<std::function<void()>> tasks_;
  std::list<std::thread> threads_, retired_;
  std::size_t idle_ = 0;
  bool closed_ = false;
};

}  // namespace mnistd::api
