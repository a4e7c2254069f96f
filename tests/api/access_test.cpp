#include "api/access.h"

#include <doctest/doctest.h>

namespace mnistd::api {

TEST_CASE("a site is scheme, host and port") {
  CHECK(is_same_site("http://localhost:8906", "localhost:8906"));
  CHECK(is_same_site("http://LOCALHOST:8906", "localhost:8906"));
  CHECK(is_same_site("http://example.org", "example.org:80"));
  CHECK(is_same_site("https://example.org:443", "example.org"));
  CHECK(is_same_site("http://[::1]:8906", "[::1]:8906"));
  CHECK_FALSE(is_same_site("http://localhost:8907", "localhost:8906"));
  CHECK_FALSE(is_same_site("http://evil.example", "localhost:8906"));
  CHECK_FALSE(is_same_site("null", "localhost:8906"));
  CHECK_FALSE(is_same_site("file://", ""));
  CHECK_FALSE(is_same_site("http://", ""));
  CHECK_FALSE(is_same_site("http://localhost:8906.evil.example", "localhost:8906"));
}

TEST_CASE("keys are equal or not, whatever their lengths") {
  CHECK(equal_in_constant_time("secret", "secret"));
  CHECK_FALSE(equal_in_constant_time("secreu", "secret"));
  CHECK_FALSE(equal_in_constant_time("secret", "secretsecret"));
  CHECK_FALSE(equal_in_constant_time("secretsecret", "secret"));
  CHECK_FALSE(equal_in_constant_time("", "secret"));
}

}  // namespace mnistd::api
