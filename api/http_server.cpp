#include "api/http_server.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include <httplib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/connection_pool.h"
#include "api/connection_server.h"
#include "api/dispatcher.h"
#include "api/request_input.h"
#include "server/errors.h"

namespace mnistd::api {
namespace {

constexpr int kBacklog = 256;
constexpr int kKeepAliveSeconds = 15, kReadSeconds = 5, kWriteSeconds = 10;
constexpr std::size_t kRequestsPerConnection = 10'000;

// httplib says no more than that binding failed: try again by hand to hear why.
std::string why_not_bound(const std::string& host, int port) {
  const std::string place = "port " + std::to_string(port) + " on " + host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return "the host " + host + " is not known here: " + gai_strerror(failed);
  int error = EADDRINUSE;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int probe = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (probe < 0) continue;
    const int yes = 1;
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(probe, address->ai_addr, address->ai_addrlen) != 0) error = errno;
    close(probe);
  }
  freeaddrinfo(found);
  if (error == EADDRINUSE)
    return place + " is in use by another program; stop it or choose another with --port";
  if (error == EACCES) return place + " is not allowed for this user; choose one above 1023 with --port";
  if (error == EADDRNOTAVAIL)
    return "the address " + host + " is not one of this machine's; choose another with --host";
  return place + " can't be used: " + std::strerror(error);
}

in_port_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

// Shuts one or both sides of every connection that was accepted on `port`. httplib keeps no list of its sockets, but the
// kernel does: they are this process's descriptors with that local port.
void shut_connections(int port, int how) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096));
  for (int descriptor = 0; descriptor < end; ++descriptor) {
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &length) == 0 && port_of(local) == port)
      ::shutdown(descriptor, how);
  }
}

// A target may hold any byte above the space, and a line of the log is UTF-8.
std::string printable(std::string_view target) {
  std::string text;
  char escape[8];
  for (const char c : target) {
    if (c >= 0x20 && c < 0x7F) {
      text += c;
    } else {
      std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      text += escape;
    }
  }
  return text;
}

}  // namespace

struct HttpServer::Impl {
  Impl(server::Daemon& daemon, HttpOptions given)
      : options(std::move(given)),
        context{daemon, options.version},
        dispatcher(context, Access(options.api_key, options.allowed_origins)) {}

  void configure();

  HttpOptions options;
  Context context;
  Dispatcher dispatcher;
  ConnectionServer server{context.stopping};
  int listener = -1;  // the last socket that httplib made before it could bind
  int port = 0;
  std::atomic<bool> running{false};
};

void HttpServer::Impl::configure() {
  using httplib::Request;
  using httplib::Response;
  server.new_task_queue = [this]() -> httplib::TaskQueue* {
    return new ConnectionPool({}, [this](ConnectionPool::Cut cut) {
      shut_connections(port, cut == ConnectionPool::Cut::both ? SHUT_RDWR : SHUT_RD);
    });
  };
  // httplib's default sets SO_REUSEPORT, with which a second daemon would share the port unseen.
  server.set_socket_options([this](socket_t socket) {
    listener = socket;
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_tcp_nodelay(true);
  server.set_keep_alive_timeout(kKeepAliveSeconds);
  server.set_keep_alive_max_count(kRequestsPerConnection);
  server.set_read_timeout(kReadSeconds, 0);
  server.set_write_timeout(kWriteSeconds, 0);
  server.set_payload_max_length(kBodyBytes);

  const auto with_body = [this](const Request& request, Response& response,
                                const httplib::ContentReader& reader) {
    dispatcher.dispatch(request, response, &reader);
  };
  server.Post(".*", with_body);
  server.Put(".*", with_body);
  server.Patch(".*", with_body);
  server.Delete(".*", with_body);
  server.set_pre_routing_handler([this](const Request& request, Response& response) {
    for (const char* method : {"POST", "PUT", "PATCH", "DELETE"})
      if (request.method == method) return httplib::Server::HandlerResponse::Unhandled;
    dispatcher.dispatch(request, response, nullptr);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_expect_100_continue_handler([](const Request& request, Response& response) {
    const std::string length = request.get_header_value("Content-Length");
    if (length.size() > 18 || std::strtoull(length.c_str(), nullptr, 10) > kBodyBytes) response.status = 413;
    return response.status == 413 ? 413 : 100;
  });
  server.set_error_handler(
      httplib::Server::HandlerWithResponse([](const Request& request, Response& response) {
        complete_error(request, response);
        return httplib::Server::HandlerResponse::Handled;
      }));
  server.set_exception_handler([](const Request&, Response& response, std::exception_ptr error) {
    write_problem(response, to_problem(error));
  });
  server.set_post_routing_handler(
      [this](const Request& request, Response& response) { dispatcher.finish(request, response); });
  server.set_logger([](const Request& request, const Response& response) {
    spdlog::debug("{} {} {} → {}", request.remote_addr, request.method, printable(request.target),
                  response.status);
  });
}

HttpServer::HttpServer(server::Daemon& daemon, HttpOptions options)
    : impl_(std::make_unique<Impl>(daemon, std::move(options))) {
  impl_->configure();
}

HttpServer::~HttpServer() { stop(); }

int HttpServer::bind() {
  const HttpOptions& options = impl_->options;
  int port = options.port;
  const bool bound = port == 0 ? (port = impl_->server.bind_to_any_port(options.host)) > 0
                               : impl_->server.bind_to_port(options.host, port);
  if (!bound) throw server::StartError(why_not_bound(options.host, options.port));
  // httplib listens with a backlog of 5: more than that many connections at once would each wait a second.
  ::listen(impl_->listener, kBacklog);
  impl_->port = port;
  return port;
}

void HttpServer::run() {
  impl_->running = true;
  if (!impl_->context.stopping) impl_->server.listen_after_bind();
  impl_->running = false;
}

void HttpServer::stop() {
  using namespace std::chrono_literals;
  impl_->context.stopping = true;
  impl_->context.daemon.log().ring();
  // Event streams end by themselves, with their last chunk, while the connections still stand.
  for (int i = 0; i < 100 && impl_->context.streams.taken() > 0; ++i) std::this_thread::sleep_for(10ms);
  // Before it runs, httplib's stop does nothing, and it would run afterwards.
  while (impl_->running && !impl_->server.is_running()) std::this_thread::sleep_for(1ms);
  impl_->server.stop();
}

}  // namespace mnistd::api
