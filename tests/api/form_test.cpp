#include "api/form.h"

#include <functional>

#include <doctest/doctest.h>

#include "api/base64url.h"
#include "api/problem.h"
#include "api/query.h"

namespace mnistd::api {
namespace {

std::vector<FieldError> errors_of(const std::function<void(Query&)>& read, const char* target) {
  try {
    Query query(target);
    read(query);
    query.finish();
  } catch (const Refusal& refusal) {
    CHECK(refusal.problem().status == 400);
    return refusal.problem().errors;
  }
  return {};
}

}  // namespace

TEST_CASE("forms are decoded, and what can't be is refused") {
  CHECK(parse_form("a=1&b=x+y%21&c&=d&&a=2", "form") ==
        NameValues{{"a", "1"}, {"b", "x y!"}, {"c", ""}, {"", "d"}, {"a", "2"}});
  for (const char* text : {"a=%", "a=%4", "a=%zz", "%G0=1", "a=%ff", "%c0%af=1", "a=%ed%a0%80"})
    CHECK_THROWS_AS(parse_form(text, "form"), Refusal);
}

TEST_CASE("a path is split before it is decoded") {
  CHECK(split_path("/v1/jobs/a%2Fb") == std::vector<std::string>{"v1", "jobs", "a/b"});
  CHECK(split_path("/")->empty());
  CHECK(split_path("/a/") == std::vector<std::string>{"a", ""});
  CHECK(split_path("/a+b") == std::vector<std::string>{"a+b"});
  CHECK(!split_path("a"));
  CHECK(!split_path("/%zz"));
}

TEST_CASE("UTF-8 is what RFC 3629 says") {
  for (const char* good : {"", "a", "ä", "€", "😀", "\xF4\x8F\xBF\xBF"}) CHECK(is_utf8(good));
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xFF", "a\xC3z"})
    CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("base64url, with the vectors of RFC 4648 §10") {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},         {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(encode_base64url(bytes) == text);
    CHECK(decode_base64url(text) == bytes);
  }
  CHECK(decode_base64url("Zg==") == "f");
  CHECK(decode_base64url("Zm8=") == "fo");
  CHECK(decode_base64url("-_8") == "\xFB\xFF");
  for (const char* bad : {"Z", "Zg=", "Zg===", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm 9", "====", "Zm=v"})
    CHECK_MESSAGE(!decode_base64url(bad), bad);
}

TEST_CASE("query parameters are read as strictly as JSON") {
  const auto limit = [](Query& query) {
    query.allow({"limit"});
    query.limit();
  };
  CHECK(errors_of(limit, "/x?limit=10").empty());
  CHECK(errors_of(limit, "/x").empty());
  for (const char* target :
       {"/x?limit=0", "/x?limit=1001", "/x?limit=", "/x?limit=1.5", "/x?limit=0x1", "/x?limit=%201",
        "/x?limit=1%20", "/x?limit=true", "/x?limit=+1", "/x?limit=1&limit=1", "/x?limits=1"})
    CHECK_MESSAGE(errors_of(limit, target).size() == 1, target);
  Query query("/x?limit=20&c=Zg#part");
  CHECK(query.limit() == 20);
  CHECK(query.text("c") == "Zg");
}

TEST_CASE("a cursor is its list's") {
  Query query(std::string("/x?cursor=") + make_cursor('j', 17));
  CHECK(query.cursor('j') == 17);
  CHECK(!query.cursor('m'));
  for (const char* bad : {"/x?cursor=17", "/x?cursor=", "/x?cursor=bTE", "/x?cursor=****"})
    CHECK(errors_of([](Query& q) { q.cursor('j'); }, bad).size() == 1);
}

}  // namespace mnistd::api
