// How the queue works, and why.
//
// The store is the truth about which jobs are queued; this queue only says in what order and whose turn it is. A job is
// stored before its answer goes out, and a stored job must never be turned away, so the place in the queue comes first:
// reserve (may say no) → store → push (cannot fail). A place that is reserved counts as taken.
//
// A cancel has to find a job in exactly one of two places: here, or with the worker. So pop tells its caller what it
// takes while it still holds the lock: at no moment is a job in neither. Closing stops only pop; what is left stays
// queued in the store and is restored by the next start.
#include "server/job_queue.h"

#include <algorithm>

namespace mnistd::server {

bool JobQueue::reserve() {
  const std::lock_guard lock(mutex_);
  if (closed_ || ids_.size() + reserved_ >= limit_) return false;
  ++reserved_;
  return true;
}

void JobQueue::cancel_reservation() {
  const std::lock_guard lock(mutex_);
  --reserved_;
}

void JobQueue::push(std::string id) {
  {
    const std::lock_guard lock(mutex_);
    --reserved_;
    ids_.push_back(std::move(id));
  }
  changed_.notify_one();
}

void JobQueue::restore(std::string id) {
  {
    const std::lock_guard lock(mutex_);
    ids_.push_back(std::move(id));
  }
  changed_.notify_one();
}

bool JobQueue::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  if (found == ids_.end()) return false;
  ids_.erase(found);
  return true;
}

std::optional<std::string> JobQueue::pop(std::chrono::milliseconds patience,
                                         const std::function<void(const std::string&)>& taken) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return closed_ || !ids_.empty(); });
  if (closed_ || ids_.empty()) return std::nullopt;
  std::string id = std::move(ids_.front());
  ids_.pop_front();
  if (taken) taken(id);
  return id;
}

void JobQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

bool JobQueue::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t JobQueue::size() const {
  const std::lock_guard lock(mutex_);
  return ids_.size() + reserved_;
}

}  // namespace mnistd::server
