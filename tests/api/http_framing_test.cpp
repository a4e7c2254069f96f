// Requests that are malformed, cut short, too large or oddly framed, said byte by byte.
#include <doctest/doctest.h>

#include "tests/api/raw_client.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

std::string post(const std::string& path, const std::string& headers, const std::string& body = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + body;
}

// The whole answer to bytes after which the sender is silent.
std::string answer_to(Live& live, const std::string& bytes) {
  RawClient raw(live.port());
  raw.send(bytes);
  return raw.read_answer();
}

std::string status_of(const std::string& answer) {
  return answer.size() > 12 ? answer.substr(9, 3) : "no answer";
}

}  // namespace

TEST_CASE("a body cut short is told, with the numbers") {
  Live live;
  const std::string answer = answer_to(
      live, post("/v1/jobs", "Content-Type: application/json\r\nContent-Length: 100\r\n", "{\"iter"));
  CHECK(status_of(answer) == "400");
  CHECK(contains(answer, "The body ended after 6 bytes; Content-Length says 100."));
  CHECK(contains(answer, "Connection: close"));
  CHECK(live.get("/v1/jobs")["items"].empty());
}

TEST_CASE("chunked bodies are refused with a hint, whole or malformed") {
  Live live;
  const std::string headers = "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n";
  for (const char* body : {"10\r\n{\"iterations\":3}\r\n0\r\n\r\n", "0x2\r\n{}\r\n0\r\n\r\n", "-2\r\n{}",
                           "2\r\n{}", "zz\r\n", ""}) {
    const std::string answer = answer_to(live, post("/v1/jobs", headers, body));
    CHECK(status_of(answer) == "411");
    CHECK(contains(answer, "/problems/length-required"));
    CHECK(contains(answer, "Content-Length (curl: --data-binary"));
  }
  CHECK(live.get("/v1/jobs")["items"].empty());
}

TEST_CASE("a POST without a body does not wait for one") {
  Live live;
  RawClient raw(live.port());
  raw.send(post("/v1/jobs", ""));
  const auto before = std::chrono::steady_clock::now();
  CHECK(contains(raw.read_until("\"device\""), "HTTP/1.1 202 "));
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(4));
}

TEST_CASE(
    "Expect: 100-continue is answered before the body, and a body too large is refused before it is sent") {
  Live live;
  RawClient raw(live.port());
  raw.send(post("/v1/jobs", "Expect: 100-continue\r\nContent-Length: 12\r\n"));
  CHECK(contains(raw.read_until("\r\n\r\n"), "HTTP/1.1 100 "));
  raw.send("iterations=2");
  CHECK(contains(raw.read_until("\"device\""), "HTTP/1.1 202 "));

  RawClient large(live.port());
  large.send(post("/predict", "Expect: 100-continue\r\nContent-Length: 8388609\r\n"));
  const std::string answer = large.read_until("/problems/");
  CHECK(status_of(answer) == "413");
}

TEST_CASE("too large is 413, and the connection goes on where the body was read") {
  Live live;
  auto client = live.client();
  client.set_keep_alive(true);
  const std::string two_megabytes = "{\"name\":\"" + std::string(2'000'000, 'x') + "\"}";
  for (const char* type : {"application/json", "application/x-www-form-urlencoded"}) {
    auto result = client.Post("/v1/jobs", two_megabytes, type);
    const TestJson problem = problem_of(result);
    CHECK(problem["status"] == 413);
    CHECK(problem["detail"] == "The body is larger than 65536 bytes, the most for a job.");
    auto next = client.Get("/healthz");
    REQUIRE(next);
    CHECK(next->status == 200);
  }
  CHECK(problem_of(client.Post("/predict", std::string(9'000'000, 'x'),
                               "application/octet-stream"))["status"] == 413);
  auto next = client.Get("/healthz");
  REQUIRE(next);
  CHECK(next->status == 200);
  CHECK(status_of(answer_to(live, post("/predict", "Content-Length: 99999999999\r\n"))) == "413");
}

TEST_CASE("a form longer than httplib likes is taken") {
  Live live;
  auto result = live.client().Post("/v1/jobs", "iterations=2" + std::string(20'000, '&'),
                                   "application/x-www-form-urlencoded");
  REQUIRE(result);
  CHECK(result->status == 202);
}

TEST_CASE("a GET with a body is refused with a hint") {
  Live live;
  for (const char* path : {"/predict", "/v1/jobs"}) {
    const std::string answer =
        answer_to(live, std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 784\r\n\r\n" +
                            std::string(784, 'x'));
    CHECK(status_of(answer) == "400");
    CHECK(contains(answer, "/problems/body-not-expected"));
    CHECK(contains(answer, "Send it with POST"));
    CHECK(contains(answer, "Connection: close"));
  }
}

TEST_CASE("framing that could be read two ways is refused and the connection closed") {
  Live live;
  for (const char* headers :
       {"Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: -1\r\n", "Content-Length: 0x10\r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length: 3, 3\r\n", "Content-Length : 3\r\n",
        "Content-Length:\r\n", "Content-Length: abc\r\n", "Content-Length: 3\n", " X: a\r\n",
        "Transfer-Encoding:\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"}) {
    CAPTURE(std::string(headers));
    const std::string answer = answer_to(live, post("/v1/jobs", headers, "abc"));
    CHECK(status_of(answer) == "400");
    CHECK(contains(answer, "/problems/invalid-request"));
  }
  CHECK(live.get("/v1/jobs")["items"].empty());
}

TEST_CASE("heads that are refused, by us or by httplib, are answered with problems") {
  Live live;
  const std::pair<std::string, const char*> table[] = {
      {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(9000, 'x') + "\r\n\r\n", "431"},
      {"GET /healthz HTTP/1.1\r\n\r\n", "400"},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "400"},
      {"NONSENSE\r\n\r\n", "400"},
      {"BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n", "501"},
      {"GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n", "505"},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nRange: bytes=zzz\r\n\r\n", "416"}};
  for (const auto& [bytes, status] : table) {
    CAPTURE(bytes.substr(0, 40));
    const std::string answer = answer_to(live, bytes);
    CHECK(status_of(answer) == status);
    CHECK(contains(answer, "application/problem+json"));
  }
  CHECK(live.get("/healthz")["status"] == "ok");
}

TEST_CASE("bytes that are no UTF-8 are refused or shown as replaced, in paths, queries and bodies") {
  Live live;
  const auto get = [&](const std::string& target) {
    return answer_to(live, "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  CHECK(status_of(get("/%FF%FE")) == "404");
  CHECK(contains(get("/%FF"), "\xEF\xBF\xBD"));
  CHECK(status_of(get("/\xFF\xFE")) == "404");
  CHECK(status_of(get("/v1/jobs/%C0%AF")) == "404");
  CHECK(status_of(get("/v1/jobs/%00")) == "404");
  CHECK(status_of(get("/v1/jobs/%zz")) == "404");
  CHECK(status_of(get("/v1/jobs?state=%FF")) == "400");
  CHECK(status_of(get("/v1/jobs?%zz=1")) == "400");
  CHECK(status_of(get("/v1/datasets/%F0%28/test/0")) == "404");
  auto client = live.client();
  CHECK(problem_of(client.Post("/v1/jobs", "{\"name\":\"\xFF\"}", "application/json"))["type"] ==
        "/problems/invalid-json");
  CHECK(problem_of(client.Post("/v1/jobs", "name=%FF", "application/x-www-form-urlencoded"))["status"] ==
        400);
  CHECK(problem_of(client.Post("/v1/jobs", std::string("\0\1\2", 3), "application/json"))["status"] == 400);
}

TEST_CASE("ranges are ignored, not mangled") {
  Live live;
  auto result = live.client().Get("/healthz", httplib::Headers{{"Range", "bytes=0-3,0-3,0-3"}});
  REQUIRE(result);
  CHECK(result->status == 200);
  CHECK(TestJson::parse(result->body)["status"] == "ok");
}

TEST_CASE("two requests in one packet are both answered, in their order") {
  Live live;
  RawClient raw(live.port());
  raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" +
           post("/v1/jobs", "Content-Length: 12\r\n", "iterations=2") +
           "GET /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = raw.read_all();
  const std::size_t first = answers.find("HTTP/1.1 200 "), second = answers.find("HTTP/1.1 202 "),
                    third = answers.find("HTTP/1.1 404 ");
  CHECK(first == 0);
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third != std::string::npos);
  CHECK(live.get("/v1/jobs")["items"].size() == 1);
}

TEST_CASE("what stands in a body is never taken for a request") {
  Live live;
  const std::string smuggled = post("/v1/jobs", "Content-Length: 14\r\n", "name=smuggled&");
  const std::string length = "Content-Length: " + std::to_string(smuggled.size()) + "\r\n";
  const std::string pad(5000, 'x');  // beyond what httplib reads ahead
  for (const std::string& request :
       {post("/predict", length, smuggled), post("/nope", length, smuggled),
        post("/v1/jobs/x", length, smuggled),
        post("/v1/jobs", length + "Content-Type: text/plain\r\n", smuggled),
        post("/v1/jobs", length + "Content-Type: multipart/form-data; boundary=x\r\n", smuggled),
        post("/v1/jobs", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + smuggled),
        post("/v1/jobs", "Content-Length:\r\n", smuggled),
        post("/v1/jobs", "Content-Length : 3\r\n", smuggled),
        post("/v1/jobs", "Content-Length: 99999999999\r\n", pad + smuggled),
        post("/v1/jobs", "Content-Encoding: gzip\r\nContent-Length: 3\r\n", "abc" + smuggled),
        std::string("NONSENSE\r\n\r\n") + smuggled, "FOO / HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled,
        "GET /healthz HTTP/1.1\r\nHost: x\r\n" + length + "\r\n" + smuggled,
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + smuggled}) {
    CAPTURE(request.substr(0, 100));
    RawClient raw(live.port());
    raw.send(request);
    const std::string answer = raw.read_until("\"detail\"", std::chrono::seconds(5));
    CHECK(contains(answer, "HTTP/1.1 "));
    CHECK(live.get("/v1/jobs")["items"].empty());
  }
}

TEST_CASE("a client that still sends gets its whole answer, without a reset") {
  Live live;
  RawClient raw(live.port());
  raw.send("FOO / HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(raw.send(std::string(4'000'000, 'x')));
  const std::string answer = raw.read_all();
  CHECK(status_of(answer) == "501");
  CHECK(contains(answer, "Connection: close"));
  CHECK(answer.ends_with("}\n"));
}

TEST_CASE("a client that shuts its sending side still gets its answer") {
  Live live;
  RawClient raw(live.port());
  raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  raw.shut_sending();
  CHECK(contains(raw.read_all(), "\"ok\""));
}

TEST_CASE("addresses as to a proxy, OPTIONS *, HEAD of a stream, a compressed body") {
  Live live;
  CHECK(contains(answer_to(live, "GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n"), "\"ok\""));
  RawClient all(live.port());
  all.send("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(status_of(all.read_all()) == "204");
  CHECK(contains(all.read_all(), "Allow: GET, HEAD, POST, PATCH, DELETE, OPTIONS\r\n"));
  RawClient head(live.port());
  head.send("HEAD /v1/jobs/" + live.train(2) + "/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string stream = head.read_all();
  CHECK(status_of(stream) == "200");
  CHECK(contains(stream, "text/event-stream"));
  CHECK_FALSE(contains(stream, "Content-Length"));
  const std::string packed =
      answer_to(live, post("/v1/jobs", "Content-Encoding: gzip\r\nContent-Length: 3\r\n", "abc"));
  CHECK(status_of(packed) == "415");
  CHECK(contains(packed, "The Content-Encoding gzip is not taken here"));
}

TEST_CASE("numbers in addresses and forms are digits, and nothing is passed over in front or behind") {
  Live live;
  auto client = live.client();
  for (const char* path :
       {"/v1/datasets/mnist/test/00", "/v1/datasets/mnist/test/+1", "/v1/datasets/mnist/test/1e0"})
    CHECK(problem_of(client.Get(path))["status"] == 404);
  CHECK(live.get("/v1/datasets/mnist/test/0")["index"] == 0);
  for (const char* path :
       {"/predict?dataset=mnist&split=test&index=1e0", "/predict?dataset=mnist&split=test&index=00",
        "/v1/jobs?limit=+5", "/v1/jobs?limit=%2B5", "/v1/jobs?limit=05", "/v1/jobs?limit=5.0",
        "/v1/jobs?limit=-0"})
    CHECK(problem_of(client.Get(path))["type"] == "/problems/invalid-input");
  const char* form = "application/x-www-form-urlencoded";
  for (const char* body : {"iterations=3+", "iterations=+3", "iterations=%2B3", "iterations=3%00"})
    CHECK(problem_of(client.Post("/v1/jobs", body, form))["errors"][0]["field"] == "iterations");
  for (const char* type : {form, "application/json"})
    for (const char* body : {"\xEF\xBB\xBF{}", "\xEF\xBB\xBFiterations=3"})
      CHECK(contains(problem_of(client.Post("/v1/jobs", body, type))["detail"], "byte order mark (BOM)"));
  const std::string behind_nul("{\"iterations\":1}\0garbage", 24);
  CHECK(problem_of(client.Post("/v1/jobs", behind_nul, "application/json"))["type"] ==
        "/problems/invalid-json");
  CHECK(live.get("/v1/jobs")["items"].empty());
}

}  // namespace mnistd::api
