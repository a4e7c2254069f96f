// httplib's server over our own connections: reads heads with `Connection`, lets httplib handle the request, and answers
// by itself where a head is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include <httplib.h>

#include "api/connection.h"
#include "api/problem.h"

namespace mnistd::api {

// Bytes of bodies that may be held at once, so that many half-sent bodies do not fill the memory. Small ones are not counted:
// the bound on connections bounds them. Any thread.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : left_(static_cast<std::ptrdiff_t>(bytes)) {}

  class Share {
   public:
    Share(BodyBudget& budget, std::uint64_t bytes);  // throws Refusal, 503, where so much is not left
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { budget_.left_ += bytes_; }

   private:
    BodyBudget& budget_;
    std::ptrdiff_t bytes_ = 0;
  };

 private:
  std::atomic<std::ptrdiff_t> left_;
};

class ConnectionServer : public httplib::Server {
 public:
  // `stopping` outlives the server: once it is true, connections end after the request that they are at.
  explicit ConnectionServer(const std::atomic<bool>& stopping) : stopping_(stopping) {}

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool serve_one(Connection& connection);  // whether another may follow
  void answer(Connection& connection, const Problem& problem);

  // httplib's process_request, whose parameters differ by version: before 0.16, since, and with websockets.
  using Setup = std::function<void(httplib::Request&)>;
  using Plain = bool (httplib::Server::*)(httplib::Stream&, bool, bool&, const Setup&);
  using Addressed = bool (httplib::Server::*)(httplib::Stream&, const std::string&, int, const std::string&,
                                              int, bool, bool&, const Setup&);
  using Upgradable = bool (httplib::Server::*)(httplib::Stream&, const std::string&, int, const std::string&,
                                               int, bool, bool&, const Setup&, bool*);
  bool handle(Plain process, Connection& connection, bool close);
  bool handle(Addressed process, Connection& connection, bool close);
  bool handle(Upgradable process, Connection& connection, bool close);

  const std::atomic<bool>& stopping_;
  BodyBudget budget_{64 * 1024 * 1024};
};

}  // namespace mnistd::api
