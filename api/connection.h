// A connection as httplib reads it, one request at a time.
//
// httplib's own stream reads ahead and forgets, with the request, what it read beyond it: the next request is lost, and
// the middle of a body can be taken for a request. Here the buffer belongs to the connection. next() reads one head and
// checks it; then read() gives httplib that head, written anew, and of what follows exactly as many bytes as
// Content-Length says. Bytes beyond wait for the next call of next(). Where a body was not read to its end, the
// connection is out of step and is closed.
//
// Reading has deadlines for the whole and not only for each silence, so that a client that sends a byte now and then holds
// its thread for a bounded time. Closing is in two steps: the sending side first, then, for a moment, what the client
// still sends is read and dropped; closing at once would make the kernel answer it with a reset, which can overtake the
// answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <httplib.h>

#include "api/request_head.h"

namespace mnistd::api {

struct ConnectionTimes {
  std::chrono::milliseconds idle{15'000};     // for the first byte of a request
  std::chrono::milliseconds head{10'000};     // from there to the end of its head
  std::chrono::milliseconds silence{5'000};   // between two bytes of a body
  std::chrono::milliseconds request{60'000};  // for a whole body
  std::chrono::milliseconds write{10'000};    // for the peer to take something
  std::chrono::milliseconds linger{1'000};
};

// One thread. No function says `override`, because some are virtual in a part of httplib's versions and absent from the others.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, ConnectionTimes times);  // takes the socket and closes it
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Waits for a request's head; nothing where the peer is gone or silent. Throws Refusal, after which the connection is good
  // for an answer and no more.
  std::optional<RequestHead> next();
  // Whether the last request was read to its end and every byte of its answer was taken.
  bool is_in_step() const { return !failed_ && given_ == head_.size() && body_left_ == 0; }
  void finish();  // closes in the two steps

  ssize_t read(char* to, std::size_t size);
  ssize_t write(const char* bytes, std::size_t size);
  void get_remote_ip_and_port(std::string& ip, int& port) const;
  void get_local_ip_and_port(std::string& ip, int& port) const;
  socket_t socket() const { return socket_; }
  bool is_readable() const { return given_ < head_.size() || body_left_ > 0; }
  bool is_writable() const;  // false also where the peer has closed its sending side
  bool wait_readable() const { return is_readable(); }
  bool wait_writable() const { return is_writable(); }
  bool is_peer_alive() const { return is_writable(); }
  time_t duration() const { return 0; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Filled { bytes, end, late };
  Filled fill(Clock::time_point deadline);

  const int socket_;
  const ConnectionTimes times_;
  std::string buffer_;  // received and not yet used, from used_ on
  std::size_t used_ = 0;
  std::string head_;
  std::size_t given_ = 0;  // of head_
  std::uint64_t body_left_ = 0;
  Clock::time_point deadline_;
  bool failed_ = false;
};

}  // namespace mnistd::api
