#include "tests/api/raw_client.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mnistd::api {

RawClient::RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}

RawClient::~RawClient() { close(); }

void RawClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void RawClient::shut_sending() { ::shutdown(socket_, SHUT_WR); }

bool RawClient::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

const std::string& RawClient::read_until(const std::string& end, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (received_.find(end) == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{socket_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) break;
    char buffer[16384];
    const auto count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count <= 0) break;
    received_.append(buffer, static_cast<std::size_t>(count));
  }
  return received_;
}

const std::string& RawClient::read_answer() {
  read_until("\r\n\r\n");
  const std::size_t body = received_.find("\r\n\r\n"), length = received_.find("Content-Length: ");
  if (body == std::string::npos || length == std::string::npos) return received_;
  const std::size_t whole = body + 4 + std::strtoul(received_.c_str() + length + 16, nullptr, 10);
  while (received_.size() < whole) {
    char buffer[4096];
    const auto count = ::recv(socket_, buffer, std::min(sizeof buffer, whole - received_.size()), 0);
    if (count <= 0) break;
    received_.append(buffer, static_cast<std::size_t>(count));
  }
  return received_;
}

std::string dechunk(const std::string& answer, bool* complete) {
  std::string body;
  if (complete != nullptr) *complete = false;
  std::size_t at = answer.find("\r\n\r\n");
  if (at == std::string::npos) return body;
  at += 4;
  for (;;) {
    const std::size_t line = answer.find("\r\n", at);
    if (line == std::string::npos) return body;
    const std::size_t size = std::strtoul(answer.substr(at, line - at).c_str(), nullptr, 16);
    if (size == 0) {
      if (complete != nullptr) *complete = true;
      return body;
    }
    if (line + 2 + size > answer.size()) return body;
    body += answer.substr(line + 2, size);
    at = line + 2 + size + 2;
  }
}

}  // namespace mnistd::api
