// The table of routes: which method on which path calls what. httplib's own table is not used, because it matches with
// regular expressions and knows neither 405 nor Allow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mnistd::api {

class Exchange;
using Handler = std::function<void(Exchange&)>;

class Router {
 public:
  // `pattern` is "/v1/jobs/{id}": a segment in braces takes any text and is captured. GET also serves HEAD.
  // An open route needs no API key.
  enum class Key { needed, not_needed };
  void add(std::string method, const std::string& pattern, Handler handler, Key key = Key::needed);

  struct Match {
    const Handler* handler = nullptr;   // null: no route for this method
    std::vector<std::string> captures;  // of the handler's pattern
    std::string allow;                  // "GET, HEAD, OPTIONS"; empty: no route for this path
    Key key = Key::needed;              // of the path; needed where there is no route
  };
  Match match(const std::string& method, const std::vector<std::string>& path) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    Handler handler;
    Key key;
  };
  std::vector<Route> routes_;
};

}  // namespace mnistd::api
