// HTTP over a Daemon: the routes of REFERENCE.md. Knows sockets and JSON; decides nothing about jobs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/daemon.h"

namespace mnistd::api {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8906;  // 0: a free one
  std::string version;
  std::string api_key;                       // empty: none asked for
  std::vector<std::string> allowed_origins;  // other origins whose pages may call the API
};

class HttpServer {
 public:
  HttpServer(server::Daemon& daemon, HttpOptions options);
  ~HttpServer();

  int bind();  // takes the port and gives its number; throws server::StartError where it is taken or not allowed
  void run();   // serves until stop(); returns when every connection is closed or five seconds have passed
  void stop();  // any thread; not from a signal handler

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mnistd::api
