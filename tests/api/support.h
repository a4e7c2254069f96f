// What the tests of api/ share: a daemon on a small synthetic dataset behind a live server on a free port.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include <httplib.h>

#include "api/http_server.h"
#include "server/daemon.h"

namespace mnistd::api {

using TestJson = nlohmann::json;

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline constexpr int kTrainCount = 200, kTestCount = 60;
// A dataset that a linear model learns: the picture of digit d is two bright rows of its own, with a little noise.
void write_dataset(const std::filesystem::path& directory);

struct LiveOptions {
  std::string api_key;
  std::vector<std::string> allowed_origins;
  std::size_t queue_limit = 100;
};

// A daemon and its server, from construction to destruction.
class Live {
 public:
  explicit Live(const LiveOptions& options = {});
  ~Live();

  server::Daemon& daemon() { return *daemon_; }
  HttpServer& http() { return *http_; }
  int port() const { return port_; }
  httplib::Client client() const;
  void stop();  // as on SIGTERM: drain, then close

  // --- shorthands that check the status
  TestJson get(const std::string& path, int status = 200);
  TestJson post_job(const TestJson& fields);  // the job of the 202
  TestJson wait_for_end(const std::string& job_id);
  std::string train(int iterations);  // id of a succeeded job
  std::string start_long_job();       // one that runs until it is cancelled

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<server::Daemon> daemon_;
  std::unique_ptr<HttpServer> http_;
  int port_ = 0;
  std::thread thread_;
};

// Looks every few milliseconds; false after `patience`.
bool eventually(const std::function<bool()>& condition,
                std::chrono::seconds patience = std::chrono::seconds(30));

// The problem in a response: checks its media type and that its status is the response's.
TestJson problem_of(const httplib::Result& result);

bool contains(const std::string& text, const std::string& part);

}  // namespace mnistd::api
