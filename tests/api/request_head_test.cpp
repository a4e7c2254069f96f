#include "api/request_head.h"

#include <doctest/doctest.h>

#include "api/problem.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

const std::string kPost = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n";

// The status that a head is refused with, 0 where it is taken.
int refusal(const std::string& head) {
  try {
    parse_head(head);
  } catch (const Refusal& refused) {
    return refused.problem().status;
  }
  return 0;
}

int end_refusal(const std::string& received) {
  try {
    find_head_end(received, 0);
  } catch (const Refusal& refused) {
    return refused.problem().status;
  }
  return 0;
}

std::string target_of(const std::string& given) {
  const std::string bytes = parse_head("GET " + given + " HTTP/1.1\r\nHost: x\r\n\r\n").bytes;
  return bytes.substr(4, bytes.find(" HTTP") - 4);
}

}  // namespace

TEST_CASE("a head is written anew for httplib, and its framing told") {
  const RequestHead head =
      parse_head(kPost + "Content-Length:  016 \r\nX-Empty:\r\nConnection: Foo, CLOSE\r\n\r\n");
  CHECK(head.method == "POST");
  CHECK(head.body_bytes == 16);
  CHECK_FALSE(head.keep_alive);
  CHECK(head.bytes ==
        "POST /v1/jobs HTTP/1.1\r\ncontent-length: 016\r\nconnection: Foo, CLOSE\r\nhost: x\r\n\r\n");
  CHECK(parse_head(kPost + "\r\n").body_bytes == 0);
  CHECK(parse_head(kPost + "\r\n").keep_alive);
  CHECK_FALSE(parse_head("GET / HTTP/1.0\r\n\r\n").keep_alive);
}

TEST_CASE("a body is framed in one way, or the head is refused") {
  const std::pair<const char*, int> table[] = {
      {"Content-Length : 16\r\n", 400},
      {"Content-Length\t: 16\r\n", 400},
      {" Content-Length: 16\r\n", 400},
      {"Content-Length:\r\n", 400},
      {"Content-Length: \t\r\n", 400},
      {"Content-Length: %31\r\n", 400},
      {"Content-Length: 1 6\r\n", 400},
      {"Content-Length: +16\r\n", 400},
      {"Content-Length: 16,16\r\n", 400},
      {"Content-Length: 16\r\ncontent-LENGTH: 16\r\n", 400},
      {"Content-Length: 1234567890123456789\r\n", 400},
      {"X: a\r\n Content-Length: 16\r\n", 400},
      {"Content-Length 16\r\n", 400},
      {": 16\r\n", 400},
      {"X: a\rContent-Length: 16\r\n", 400},
      {"Transfer-Encoding: chunked\r\n", 411},
      {"Transfer-Encoding: Chunked\r\n", 411},
      {"Transfer-Encoding: chunked\r\nContent-Length: 16\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding:\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n", 400},
      {"Transfer-Encoding: \x0b"
       "chunked\r\n",
       400},
      {"Content-Encoding: gzip\r\nContent-Length: 16\r\n", 415},
      {"Content-Encoding: identity\r\nContent-Length: 16\r\n", 0},
      {"Content-Length: 0\r\n", 0}};
  for (const auto& [header, status] : table) {
    CAPTURE(std::string(header));
    CHECK(refusal(kPost + header + "\r\n") == status);
  }
  CHECK(refusal(kPost + std::string("X: a\0b\r\n\r\n", 10)) == 400);
}

TEST_CASE("targets are brought to a path and query; a host is there once") {
  CHECK(target_of("/healthz") == "/healthz");
  CHECK(target_of("http://y:1/healthz?a=1") == "/healthz?a=1");
  CHECK(target_of("HTTPS://y") == "/");
  CHECK(target_of("http://y?a=1") == "/?a=1");
  CHECK(target_of("/x?a=b?c#d?e") == "/x?a=b%3Fc");
  CHECK(contains(parse_head("GET http://y:1/ HTTP/1.1\r\nHost: x\r\n\r\n").bytes, "\r\nhost: y:1\r\n"));
  CHECK(contains(parse_head("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").bytes, "OPTIONS * HTTP/1.1\r\n"));
  const std::pair<const char*, int> table[] = {{"GET / HTTP/1.1\r\n\r\n", 400},
                                               {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
                                               {"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
                                               {"GET http://a@b/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET http:/// HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
                                               {"GET /\t HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET /\r\nHost: x\r\n\r\n", 400},
                                               {"get / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
                                               {"FOO / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
                                               {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
                                               {"GET / http/1.1\r\nHost: x\r\n\r\n", 400},
                                               {"GET / HTTP/1.0\r\n\r\n", 0}};
  for (const auto& [head, status] : table) {
    CAPTURE(std::string(head));
    CHECK(refusal(head) == status);
  }
}

TEST_CASE("a head has bounds, in all and a line") {
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n";
  CHECK(refusal(get + "X: " + std::string(8189, 'x') + "\r\n\r\n") == 0);
  CHECK(refusal(get + "X: " + std::string(8190, 'x') + "\r\n\r\n") == 431);
  CHECK(refusal("GET /" + std::string(8191, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n") == 0);
  CHECK(refusal("GET /" + std::string(8192, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n") == 414);
  std::string many = get;
  for (int i = 1; i < 100; ++i) many += "X: a\r\n";
  CHECK(refusal(many + "\r\n") == 0);
  CHECK(refusal(many + "X: a\r\n\r\n") == 431);
  CHECK(end_refusal("GET /" + std::string(9000, 'x')) == 414);
  std::string long_head = get;
  while (long_head.size() <= 64 * 1024) long_head += "X: " + std::string(8000, 'x') + "\r\n";
  CHECK(end_refusal(long_head) == 431);
}

TEST_CASE("the end of a head is found however its bytes come") {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t size = 0; size < head.size(); ++size)
    CHECK_FALSE(find_head_end(head.substr(0, size), size > 0 ? size - 1 : 0));
  for (std::size_t seen = 0; seen < head.size(); ++seen)
    CHECK(find_head_end(head + "rest\n", seen) == head.size());
  CHECK(end_refusal("GET / HTTP/1.1\nHost: x\n\n") == 400);
  CHECK(end_refusal("\n") == 400);
}

}  // namespace mnistd::api
