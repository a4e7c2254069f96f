#include "api/connection_pool.h"

#include <exception>
#include <system_error>

#include <spdlog/spdlog.h>

namespace mnistd::api {
namespace {

thread_local bool overflow = false;

}  // namespace

bool ConnectionPool::is_overflow() { return overflow; }

ConnectionPool::ConnectionPool(ConnectionLimits limits, std::function<void(Cut)> cut)
    : limits_(limits), cut_(std::move(cut)) {}

ConnectionPool::~ConnectionPool() { shutdown(); }

std::size_t ConnectionPool::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

ConnectionPool::Enqueued ConnectionPool::enqueue(std::function<void()> task) {
  return static_cast<Enqueued>(take(task, std::is_void_v<Enqueued>));
}

bool ConnectionPool::take(std::function<void()>& task, bool wait) {
  join_retired();
  const auto patience = std::chrono::steady_clock::now() + limits_.patience;
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool late = wait && std::chrono::steady_clock::now() >= patience;
    // Closed: shutdown() runs it, and httplib closes the socket in it.
    if (closed_ || late || idle_ > tasks_.size()) {
      tasks_.push_back(std::move(task));
      work_.notify_one();
      return true;
    }
    if (threads_.size() < limits_.threads) {
      const auto place = threads_.emplace(threads_.end());
      try {
        *place = std::thread([this, place] { serve(place); });
        tasks_.push_back(std::move(task));
        return true;
      } catch (const std::system_error& error) {  // out of threads or memory: as if the bound were here
        threads_.erase(place);
        spdlog::warn("no thread for another connection: {}", error.what());
      }
    }
    if (!wait) return false;
    changed_.wait_until(lock, patience);
  }
}

void ConnectionPool::serve(std::list<std::thread>::iterator self) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (tasks_.empty() && !closed_) {
      ++idle_;
      work_.wait_for(lock, limits_.idle, [this] { return closed_ || !tasks_.empty(); });
      --idle_;
    }
    if (tasks_.empty()) break;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    overflow = threads_.size() - idle_ > limits_.threads - limits_.reserve;
    lock.unlock();
    try {
      task();
    } catch (const std::exception& error) {
      spdlog::error("a connection failed: {}", error.what());
    } catch (...) {
      spdlog::error("a connection failed with something that is no exception");
    }
    task = nullptr;
    lock.lock();
    changed_.notify_all();
  }
  retired_.splice(retired_.end(), threads_, self);
  changed_.notify_all();
}

void ConnectionPool::join_retired() {
  std::list<std::thread> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(retired_);
  }
  for (std::thread& thread : done) thread.join();
}

void ConnectionPool::shutdown() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + limits_.grace;
  std::unique_lock lock(mutex_);
  closed_ = true;
  work_.notify_all();
  while (!threads_.empty()) {
    const bool late = Clock::now() >= deadline;
    lock.unlock();
    if (cut_) cut_(late ? Cut::both : Cut::receiving);
    lock.lock();
    changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return threads_.empty(); });
  }
  std::deque<std::function<void()>> left = std::exchange(tasks_, {});
  lock.unlock();
  for (const std::function<void()>& task : left) task();
  join_retired();
}

}  // namespace mnistd::api
