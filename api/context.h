// What the routes share.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "server/daemon.h"

namespace mnistd::api {

// Streams hold their connection's thread for as long as the client likes, so they are counted apart and may not take all.
class StreamSlots {
 public:
  explicit StreamSlots(int limit) : limit_(limit) {}
  using Slot = std::shared_ptr<void>;  // given back when the last copy goes
  Slot acquire();                      // null when all are taken
  int taken() const { return *taken_; }
  int limit() const { return limit_; }

 private:
  const int limit_;
  std::shared_ptr<std::atomic<int>> taken_ = std::make_shared<std::atomic<int>>(0);
};

struct Context {
  server::Daemon& daemon;
  std::string version;
  StreamSlots streams{256};
  std::atomic<bool> stopping{false};  // the server is about to close its connections
};

}  // namespace mnistd::api
