#include <doctest/doctest.h>

#include "tests/api/support.h"

namespace mnistd::api {

TEST_CASE("a foreign page changes nothing; the dashboard's and an allowed one do") {
  LiveOptions options;
  options.allowed_origins = {"https://Notebook.example/"};
  Live live(options);
  auto client = live.client();
  const auto post = [&](const std::string& origin) {
    auto result = client.Post("/v1/jobs", httplib::Headers{{"Origin", origin}}, "iterations=1",
                              "application/x-www-form-urlencoded");
    REQUIRE(result);
    return result;
  };
  for (const char* origin :
       {"https://evil.example", "null", "http://127.0.0.1:1", "https://notebook.example.evil.example"})
    CHECK(problem_of(post(origin))["type"] == "/problems/foreign-origin");
  CHECK(post("http://127.0.0.1:" + std::to_string(live.port()))->status == 202);
  auto allowed = post("https://notebook.example");
  CHECK(allowed->status == 202);
  CHECK(allowed->get_header_value("Access-Control-Allow-Origin") == "https://notebook.example");
  CHECK(problem_of(client.Delete("/v1/jobs/x",
                                 httplib::Headers{{"Origin", "https://evil.example"}}))["status"] == 403);

  auto read = client.Get("/v1/jobs", httplib::Headers{{"Origin", "https://evil.example"}});
  REQUIRE(read);
  CHECK(read->status == 200);
  CHECK_FALSE(read->has_header("Access-Control-Allow-Origin"));

  auto preflight = client.Options("/v1/jobs", httplib::Headers{{"Origin", "https://notebook.example"},
                                                               {"Access-Control-Request-Method", "POST"}});
  REQUIRE(preflight);
  CHECK(preflight->status == 204);
  CHECK(contains(preflight->get_header_value("Access-Control-Allow-Methods"), "DELETE"));
  CHECK(contains(preflight->get_header_value("Access-Control-Allow-Headers"), "Idempotency-Key"));
}

TEST_CASE("with a key, all but health and the page needs it") {
  LiveOptions options;
  options.api_key = "0123456789abcdef";
  Live live(options);
  auto client = live.client();
  for (const char* open : {"/healthz", "/readyz", "/"}) {
    auto result = client.Get(open);
    REQUIRE(result);
    CHECK(result->status == 200);
  }
  for (const char* header : {"", "Bearer", "Bearer ", "Bearer 0123456789abcdeF", "Basic 0123456789abcdef",
                             "Bearer 0123456789abcdef0123456789abcdef"}) {
    CAPTURE(std::string(header));
    auto result = client.Get("/v1/system", httplib::Headers{{"Authorization", header}});
    CHECK(problem_of(result)["status"] == 401);
    CHECK(result->get_header_value("WWW-Authenticate") == "Bearer realm=\"mnistd\"");
  }
  CHECK(problem_of(client.Post("/v1/jobs", "{}", "application/json"))["status"] == 401);
  CHECK(problem_of(client.Get("/predict?index=0"))["status"] == 401);
  CHECK(problem_of(client.Get("/%76%31/system"))["status"] == 401);
  for (const char* header : {"Bearer 0123456789abcdef", "bearer 0123456789abcdef"}) {
    auto result = client.Get("/v1/system", httplib::Headers{{"Authorization", header}});
    REQUIRE(result);
    CHECK(result->status == 200);
  }
}

TEST_CASE("every answer carries nosniff and a date") {
  Live live;
  auto client = live.client();
  for (const char* path : {"/healthz", "/nope", "/v1/jobs?x=1", "/"}) {
    auto result = client.Get(path);
    REQUIRE(result);
    CHECK(result->get_header_value("X-Content-Type-Options") == "nosniff");
    CHECK(contains(result->get_header_value("Date"), " GMT"));
  }
}

}  // namespace mnistd::api
