#include "api/strict_json.h"

#include <doctest/doctest.h>

#include "api/json_fields.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_json(text);
  } catch (const JsonError& error) {
    return error.what();
  }
  return "";
}

std::string nested(int depth) { return std::string(depth, '[') + "1" + std::string(depth, ']'); }

}  // namespace

TEST_CASE("what is no strict JSON is refused, with the place and the reason") {
  const std::pair<const char*, const char*> table[] = {
      {"", "line 1, column 1: "},
      {"{", "unexpected end of input"},
      {"{\"a\":1,}", "line 1, column 8: "},
      {"{'a':1}", "line 1, column 2: "},
      {"{\"a\":1}x", "line 1, column 8: "},
      {"{\"a\":1}{\"a\":1}", "line 1, column 8: "},
      {"{\"a\":1,\n \"a\":2}", "line 2, column 4: the key \"a\" is there twice"},
      {"{\"a\":{\"b\":1,\"b\":2}}", "the key \"b\" is there twice"},
      {"{\"\\u0061\":1,\"a\":2}", "the key \"a\" is there twice"},
      {"[1e400]", "number overflow"},
      {"[-1e400]", "number overflow"},
      {"[NaN]", "line 1, column 2: "},
      {"[Infinity]", "line 1, column 2: "},
      {"[01]", "unexpected number literal"},
      {"[1.]", "line 1, column 4: "},
      {"[+1]", "line 1, column 2: "},
      {"[0x10]", "line 1, column 3: "},
      {"[\"\xFF\"]", "ill-formed UTF-8"},
      {"[\"\xC0\xAF\"]", "ill-formed UTF-8"},
      {"[\"\xED\xA0\x80\"]", "ill-formed UTF-8"},
      {"[\"\\ud800\"]", "surrogate"},
      {"[\"a\nb\"]", "control character"},
      {"// no\n1", "line 1, column 1: "},
      {"tru", "line 1, column"},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK_MESSAGE(contains(error_of(text), expected), error_of(text));
    CHECK_MESSAGE(error_of(text).rfind("line ", 0) == 0, error_of(text));
  }
}

TEST_CASE("a NUL is no end, and a byte order mark no space") {
  using namespace std::string_view_literals;
  CHECK(error_of("{\"a\":1}\0garbage"sv) ==
        "line 1, column 8: a NUL byte; JSON has none, in strings it is written \\u0000");
  CHECK(contains(error_of("{\"a\":1}\0"sv), "line 1, column 8: a NUL byte"));
  CHECK(contains(error_of("{\n\0}"sv), "line 2, column 1: a NUL byte"));
  CHECK(contains(error_of("[\"a\0b\"]"sv), "line 1, column 4: a NUL byte"));
  CHECK(error_of("[\"\\u0000\"]") == "");
  CHECK(error_of("\xEF\xBB\xBF{}") == "line 1, column 1: a byte order mark (BOM); send UTF-8 without one");
}

TEST_CASE("sixteen levels are enough") {
  CHECK(error_of(nested(16)) == "");
  CHECK(contains(error_of(nested(17)), "nested more than 16 deep"));
  CHECK(contains(error_of(std::string(30'000, '[')), "nested more than 16 deep"));
}

TEST_CASE("values come through whole, in their order") {
  const Json value = parse_json(R"( {"z":[1,-2,3.5,true,null,"\u00e4\ud83d\ude00"],"a":{"b":{}}} )");
  CHECK(value.dump() == "{\"z\":[1,-2,3.5,true,null,\"ä😀\"],\"a\":{\"b\":{}}}");
  CHECK(parse_json("0.01").dump() == "0.01");
}

TEST_CASE("an integer is a whole number in its range, and nothing else") {
  const auto read = [](const char* text) { return exact_integer(parse_json(text), 1, 4294967295); };
  CHECK(read("3") == 3);
  CHECK(read("3.0") == 3);
  CHECK(read("3e2") == 300);
  CHECK(read("4294967295") == 4294967295);
  for (const char* text :
       {"3.9", "true", "\"3\"", "4294967296", "4294967297", "1e10", "0", "-1", "null", "[3]",
        "18446744073709551615", "18446744073709551616", "9223372036854775808", "1e300", "2.9999999999999996"})
    CHECK_MESSAGE(!read(text), text);
  CHECK(exact_integer(parse_json("-0"), 0, 1) == 0);
}

TEST_CASE("characters are code points") {
  CHECK(count_characters("") == 0);
  CHECK(count_characters("aä😀") == 3);
  CHECK(excerpt(Json(std::string(100, 'x'))).size() == 40 + std::string("…").size());
  CHECK(contains(excerpt(Json("\xFF")), "\xEF\xBF\xBD"));
}

}  // namespace mnistd::api
