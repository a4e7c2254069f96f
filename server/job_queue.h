// The queue between the HTTP threads and the worker: ids in order, bounded, closed by draining.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mnistd::server {

class JobQueue {
 public:
  explicit JobQueue(std::size_t limit) : limit_(limit) {}

  // Takes a place before the job is stored, so that no stored job is ever turned away; give it to push or back to cancel.
  // False when full or closed.
  bool reserve();
  void cancel_reservation();
  void push(std::string id);           // uses a reservation
  void restore(std::string id);        // at start-up: jobs of an earlier life, beyond the limit if need be
  bool remove(const std::string& id);  // a queued job was cancelled; false when the worker has it already

  // Waits at most `patience` for the next id; nothing then, or once closed. `taken` is called with the id before anybody
  // can see it gone from the queue; it must not call back into the queue.
  std::optional<std::string> pop(std::chrono::milliseconds patience,
                                 const std::function<void(const std::string&)>& taken = {});
  void close();
  bool is_closed() const;
  std::size_t size() const;  // with reservations
  std::size_t limit() const { return limit_; }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> ids_;
  std::size_t reserved_ = 0;
  bool closed_ = false;
};

}  // namespace mnistd::server
