// What the daemon refuses, by name. api/ turns each into its HTTP status.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace mnistd::server {

// No job, model or dataset of that name.
class NotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The thing is there, but not in a state that allows this; `code` is short and stable ("no-model", "not-ended").
class WrongState : public std::runtime_error {
 public:
  WrongState(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

// The queue is full or the daemon drains: try again later.
class Unavailable : public std::runtime_error {
 public:
  Unavailable(int retry_after_s, const std::string& message)
      : std::runtime_error(message), retry_after_s_(retry_after_s) {}
  int retry_after_s() const { return retry_after_s_; }

 private:
  int retry_after_s_;
};

// The idempotency key was used before with another request.
class IdempotencyMismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The store can't be read or written (disk full, read-only, damaged). The message names the file and SQLite's reason.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The daemon can't start: data dir in use or not writable, port taken. The message says what to do.
class StartError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace mnistd::server
