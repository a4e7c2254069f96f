#include "api/http_server.h"

#include <doctest/doctest.h>

#include "server/errors.h"
#include "tests/api/raw_client.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

std::string bind_error(server::Daemon& daemon, const std::string& host, int port) {
  HttpOptions options;
  options.host = host;
  options.port = port;
  HttpServer server(daemon, options);
  try {
    server.bind();
  } catch (const server::StartError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a port in use is refused by name, also to a second daemon of ours") {
  Live live;
  CHECK(bind_error(live.daemon(), "127.0.0.1", live.port()) ==
        "port " + std::to_string(live.port()) +
            " on 127.0.0.1 is in use by another program; stop it or choose another with --port");
  CHECK(contains(bind_error(live.daemon(), "192.0.2.1", 0), "is not one of this machine's"));
  CHECK(contains(bind_error(live.daemon(), "no-such-host.invalid", 0), "is not known here"));
}

TEST_CASE("the port is free again at once") {
  int port = 0;
  {
    Live live;
    port = live.port();
    live.get("/healthz");
  }
  Live other;
  CHECK(bind_error(other.daemon(), "127.0.0.1", port) == "");
}

TEST_CASE("a server that is stopped before it runs does not run") {
  Live live;
  HttpOptions options;
  options.port = 0;
  HttpServer server(live.daemon(), options);
  CHECK(server.bind() > 0);
  server.stop();
  server.run();
  CHECK(true);
}

TEST_CASE("health, readiness and system") {
  Live live;
  CHECK(live.get("/healthz?probe=1") == TestJson{{"status", "ok"}});
  CHECK(live.get("/readyz") == TestJson{{"ready", true}});
  const TestJson system = live.get("/v1/system");
  CHECK(system["version"] == "1.2.3");
  CHECK(system["device"]["backend"] == "cpu");
  CHECK(system["queue"] == TestJson{{"queued", 0}, {"limit", 100}, {"running", nullptr}});
  CHECK(system["uptime_s"] >= 0);
  CHECK(system["draining"] == false);
  live.daemon().drain();
  auto result = live.client().Get("/readyz");
  const TestJson problem = problem_of(result);
  CHECK(problem["status"] == 503);
  CHECK(problem["reasons"] == TestJson{"draining"});
  CHECK(result->has_header("Retry-After"));
  auto refused = live.client().Post("/v1/jobs", "{}", "application/json");
  CHECK(problem_of(refused)["status"] == 503);
  CHECK(refused->has_header("Retry-After"));
}

TEST_CASE("unknown paths and methods are problems, with Allow where there is another") {
  Live live;
  auto client = live.client();
  CHECK(problem_of(client.Get("/nope"))["detail"] == "There is nothing at /nope.");
  CHECK(problem_of(client.Get("/v1/jobs/"))["status"] == 404);
  CHECK(problem_of(client.Post("/nope", "x", "text/plain"))["status"] == 404);
  const std::tuple<const char*, const char*, const char*> table[] = {
      {"PUT", "/v1/jobs", "GET, HEAD, POST, OPTIONS"},
      {"DELETE", "/v1/jobs", "GET, HEAD, POST, OPTIONS"},
      {"POST", "/v1/jobs/x", "GET, HEAD, PATCH, DELETE, OPTIONS"},
      {"POST", "/v1/jobs/x/events", "GET, HEAD, OPTIONS"},
      {"PATCH", "/v1/models/x", "GET, HEAD, DELETE, OPTIONS"},
      {"GET", "/v1/models/x/activate", "POST, OPTIONS"},
      {"DELETE", "/predict", "GET, HEAD, POST, OPTIONS"},
      {"POST", "/healthz", "GET, HEAD, OPTIONS"},
      {"TRACE", "/healthz", "GET, HEAD, OPTIONS"},
      {"CONNECT", "/v1/system", "GET, HEAD, OPTIONS"}};
  for (const auto& [method, path, allow] : table) {
    CAPTURE(std::string(method));
    CAPTURE(std::string(path));
    RawClient raw(live.port());
    raw.send(std::string(method) + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string answer = raw.read_all();
    CHECK(contains(answer, "HTTP/1.1 405 "));
    CHECK(contains(answer, std::string("Allow: ") + allow + "\r\n"));
    CHECK(contains(answer, "/problems/method-not-allowed"));
  }
  auto options = client.Options("/v1/jobs");
  REQUIRE(options);
  CHECK(options->status == 204);
  CHECK(options->get_header_value("Allow") == "GET, HEAD, POST, OPTIONS");
  CHECK_FALSE(options->has_header("Content-Length"));
}

TEST_CASE("HEAD is GET without the body") {
  Live live;
  auto client = live.client();
  for (const char* path : {"/healthz", "/v1/jobs", "/v1/system", "/v1/datasets/mnist/test/0.png", "/"}) {
    auto head = client.Head(path), get = client.Get(path);
    REQUIRE(head);
    REQUIRE(get);
    CHECK(head->status == 200);
    CHECK(head->body.empty());
    CHECK(head->get_header_value("Content-Type") == get->get_header_value("Content-Type"));
  }
  auto absent = client.Head("/nope");
  REQUIRE(absent);
  CHECK(absent->status == 404);
}

TEST_CASE("a typo in a query is an error, not the default") {
  Live live;
  const TestJson problem = problem_of(live.client().Get("/v1/jobs?lmit=5&state=runing"));
  CHECK(problem["status"] == 400);
  CHECK(problem["errors"].size() == 2);
  CHECK(problem["errors"][0]["field"] == "lmit");
  CHECK(problem["errors"][1]["message"] ==
        "must be one of queued, running, succeeded, failed, cancelled, found \"runing\"");
}

TEST_CASE("the root answers with or without a dashboard") {
  Live live;
  auto root = live.client().Get("/");
  REQUIRE(root);
  CHECK(root->status == 200);
  if (contains(root->get_header_value("Content-Type"), "text/html")) {
    CHECK(contains(root->get_header_value("Content-Security-Policy"), "default-src 'self'"));
    const std::string etag = root->get_header_value("ETag");
    auto again = live.client().Get("/", httplib::Headers{{"If-None-Match", etag}});
    REQUIRE(again);
    CHECK(again->status == 304);
    CHECK(again->body.empty());
  } else {
    CHECK(contains(root->body, "POST /v1/jobs"));
  }
}

}  // namespace mnistd::api
