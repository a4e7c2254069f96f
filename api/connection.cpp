#include "api/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/problem.h"

namespace mnistd::api {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024, kLingerBytes = 64 * 1024 * 1024;

using AddressOf = int (*)(int, sockaddr*, socklen_t*);

void describe(AddressOf address_of, int socket, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST], service[NI_MAXSERV];
  if (address_of(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, service, sizeof service,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return;
  ip = host;
  port = std::atoi(service);
}

// The events that came, 0 where none did until the deadline.
int wait_for(int socket, short events, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{socket, events, 0};
    const int count = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (count >= 0) return waiting.revents;
    if (errno != EINTR) return 0;
  }
}

std::size_t length_of_empty_lines(std::string_view bytes) {
  std::size_t length = 0;
  while (bytes.substr(length).starts_with("\r\n")) length += 2;
  return length;
}

}  // namespace

Connection::Connection(int socket, ConnectionTimes times) : socket_(socket), times_(times) {}

Connection::~Connection() { ::close(socket_); }

Connection::Filled Connection::fill(Clock::time_point deadline) {
  if (used_ > 0) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  // Also where bytes are always waiting: one who never stops sending is late too.
  if (Clock::now() >= deadline || wait_for(socket_, POLLIN, deadline) == 0) return Filled::late;
  char bytes[kReadBytes];
  ssize_t count = 0;
  do count = ::recv(socket_, bytes, sizeof bytes, 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return Filled::end;
  buffer_.append(bytes, static_cast<std::size_t>(count));
  return Filled::bytes;
}

std::optional<RequestHead> Connection::next() {
  buffer_.erase(0, used_);
  used_ = 0;
  if (buffer_.empty() && fill(Clock::now() + times_.idle) != Filled::bytes) return std::nullopt;
  const Clock::time_point deadline = Clock::now() + times_.head;
  std::optional<std::size_t> end;
  for (std::size_t seen = 0;;) {
    // Empty lines before a request are passed over (RFC 9112 §2.2), also where a packet ends within one.
    if (seen == 0) buffer_.erase(0, length_of_empty_lines(buffer_));
    if (buffer_ != "\r") {
      if ((end = find_head_end(buffer_, seen))) break;
      seen = buffer_.size();
    }
    const Filled filled = fill(deadline);
    if (filled == Filled::bytes) continue;
    if (buffer_.empty()) return std::nullopt;
    if (filled == Filled::end) refuse(400, "invalid-request", "The request ended within its headers.");
    refuse(
        408, "request-timeout",
        "The headers did not end within " + std::to_string(times_.head.count()) + " ms of their first byte.");
  }
  RequestHead head = parse_head(std::string_view(buffer_).substr(0, *end));
  used_ = *end;
  head_ = head.bytes;
  given_ = 0;
  body_left_ = head.body_bytes;
  deadline_ = Clock::now() + times_.request;
  return head;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (given_ < head_.size()) {
    const std::size_t count = std::min(size, head_.size() - given_);
    std::memcpy(to, head_.data() + given_, count);
    given_ += count;
    return static_cast<ssize_t>(count);
  }
  if (body_left_ == 0) return 0;
  if (used_ == buffer_.size()) {
    const Filled filled = fill(std::min(deadline_, Clock::now() + times_.silence));
    if (filled != Filled::bytes) failed_ = true;
    if (filled == Filled::end) return 0;
    if (filled == Filled::late) return -1;
  }
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>({size, buffer_.size() - used_, body_left_}));
  std::memcpy(to, buffer_.data() + used_, count);
  used_ += count;
  body_left_ -= count;
  return static_cast<ssize_t>(count);
}

// All of it or -1: httplib 0.11 does not look whether its headers went out whole. Never a send that blocks, which could wait
// for a slow reader longer than `write`.
ssize_t Connection::write(const char* bytes, std::size_t size) {
  for (std::size_t sent = 0; sent < size;) {
    const bool ready = (wait_for(socket_, POLLOUT, Clock::now() + times_.write) & POLLOUT) != 0;
    const ssize_t count =
        ready ? ::send(socket_, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (!ready || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
      failed_ = true;
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

bool Connection::is_writable() const {
  const int events = wait_for(socket_, POLLOUT | POLLRDHUP, Clock::now() + times_.write);
  return (events & POLLOUT) != 0 && (events & (POLLERR | POLLHUP | POLLRDHUP)) == 0;
}

void Connection::finish() {
  if (::shutdown(socket_, SHUT_WR) != 0) return;
  const Clock::time_point deadline = Clock::now() + times_.linger;
  char bytes[kReadBytes];
  for (std::size_t dropped = 0; dropped < kLingerBytes && Clock::now() < deadline;) {
    if (wait_for(socket_, POLLIN, deadline) == 0) return;
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) return;
    dropped += static_cast<std::size_t>(count);
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  describe(&::getpeername, socket_, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  describe(&::getsockname, socket_, ip, port);
}

}  // namespace mnistd::api
