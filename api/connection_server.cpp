#include "api/connection_server.h"

#include <algorithm>
#include <map>

#include <spdlog/spdlog.h>

#include "api/connection_pool.h"
#include "api/reply.h"
#include "api/request_input.h"

namespace mnistd::api {
namespace {

constexpr std::uint64_t kUncountedBytes = 64 * 1024;
constexpr std::chrono::milliseconds kOverflowTime{2'000};

struct Peer {
  std::string address;
  int port = 0;
};

Peer remote_of(const Connection& connection) {
  Peer peer;
  connection.get_remote_ip_and_port(peer.address, peer.port);
  return peer;
}

Peer local_of(const Connection& connection) {
  Peer peer;
  connection.get_local_ip_and_port(peer.address, peer.port);
  return peer;
}

const char* reason_of(int status) {
  static const std::map<int, const char*> reasons = {
      {400, "Bad Request"},     {408, "Request Timeout"},        {411, "Length Required"},
      {414, "URI Too Long"},    {415, "Unsupported Media Type"}, {431, "Request Header Fields Too Large"},
      {501, "Not Implemented"}, {503, "Service Unavailable"},    {505, "HTTP Version Not Supported"}};
  const auto found = reasons.find(status);
  return found == reasons.end() ? "Refused" : found->second;
}

}  // namespace

BodyBudget::Share::Share(BodyBudget& budget, std::uint64_t bytes) : budget_(budget) {
  if (bytes <= kUncountedBytes) return;
  const auto wanted = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(bytes, kBodyBytes));
  if ((budget.left_ -= wanted) < 0) {
    budget.left_ += wanted;
    Problem problem{503, "overloaded", "Too many large bodies are being received at once. Try again."};
    problem.headers.emplace_back("Retry-After", "2");
    throw Refusal(std::move(problem));
  }
  bytes_ = wanted;
}

bool ConnectionServer::process_and_close_socket(socket_t socket) {
  ConnectionTimes times;
  // What is answered there has no body: health, readiness, and that the server is full.
  if (ConnectionPool::is_overflow()) {
    times.idle = times.head = times.silence = times.request = kOverflowTime;
  }
  Connection connection(socket, times);
  while (serve_one(connection)) continue;
  connection.finish();
  return true;
}

bool ConnectionServer::serve_one(Connection& connection) {
  try {
    const auto head = connection.next();
    if (!head) return false;
    const BodyBudget::Share share(budget_, head->body_bytes);
    const bool close = !head->keep_alive || stopping_ || ConnectionPool::is_overflow();
    return handle(&ConnectionServer::process_request, connection, close) && !close && connection.is_in_step();
  } catch (const Refusal& refusal) {
    answer(connection, refusal.problem());
    return false;
  }
}

void ConnectionServer::answer(Connection& connection, const Problem& problem) {
  const std::string body = to_json_text(problem);
  std::string bytes = "HTTP/1.1 " + std::to_string(problem.status) + " " + reason_of(problem.status) + "\r\n";
  for (const auto& [name, value] : problem.headers) bytes += name + ": " + value + "\r\n";
  bytes += "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nContent-Type: application/problem+json\r\nDate: " + http_date() +
           "\r\nX-Content-Type-Options: nosniff\r\n\r\n" + body;
  connection.write(bytes.data(), bytes.size());
  spdlog::debug("{} a request that was refused → {}", remote_of(connection).address, problem.status);
}

bool ConnectionServer::handle(Plain process, Connection& connection, bool close) {
  bool closed = false;
  return (this->*process)(connection, close, closed, nullptr) && !closed;
}

bool ConnectionServer::handle(Addressed process, Connection& connection, bool close) {
  bool closed = false;
  const Peer remote = remote_of(connection), local = local_of(connection);
  return (this->*process)(connection, remote.address, remote.port, local.address, local.port, close, closed,
                          nullptr) &&
         !closed;
}

bool ConnectionServer::handle(Upgradable process, Connection& connection, bool close) {
  bool closed = false, upgraded = false;
  const Peer remote = remote_of(connection), local = local_of(connection);
  return (this->*process)(connection, remote.address, remote.port, local.address, local.port, close, closed,
                          nullptr, &upgraded) &&
         !closed && !upgraded;
}

}  // namespace mnistd::api
