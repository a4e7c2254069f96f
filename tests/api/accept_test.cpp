#include "api/accept.h"

#include <doctest/doctest.h>

namespace mnistd::api {

TEST_CASE("the client's preference wins, then the server's order") {
  const auto pick = [](std::string_view accept) {
    return negotiate(accept, {"application/json", "text/csv", "text/plain"});
  };
  CHECK(pick("") == "application/json");
  CHECK(pick("*/*") == "application/json");
  CHECK(pick("text/csv") == "text/csv");
  CHECK(pick("TEXT/CSV") == "text/csv");
  CHECK(pick("text/*") == "text/csv");
  CHECK(pick("text/csv;q=0.5, application/json;q=0.4") == "text/csv");
  CHECK(pick("text/csv;q=0.4, application/json;q=0.5") == "application/json");
  CHECK(pick("*/*;q=0.1, text/plain") == "text/plain");
  CHECK(pick("text/*, text/csv;q=0") == "text/plain");
  CHECK(pick("text/plain; charset=utf-8; q=0.9, */*;q=0.8") == "text/plain");
  CHECK(pick("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8") == "application/json");
  CHECK(pick("image/png") == "");
  CHECK(pick("application/json;q=0") == "");
  CHECK(pick(" , ;q=1, nonsense") == "application/json");
}

}  // namespace mnistd::api
