#include "api/router.h"

#include <stdexcept>

#include "api/form.h"

namespace mnistd::api {
namespace {

bool is_capture(const std::string& segment) { return segment.starts_with('{'); }

std::optional<std::vector<std::string>> capture(const std::vector<std::string>& pattern,
                                                const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::vector<std::string> captures;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_capture(pattern[i]) && !path[i].empty())
      captures.push_back(path[i]);
    else if (pattern[i] != path[i])
      return std::nullopt;
  }
  return captures;
}

}  // namespace

void Router::add(std::string method, const std::string& pattern, Handler handler, Key key) {
  const auto segments = split_path(pattern);
  if (!segments) throw std::logic_error("not a route pattern: " + pattern);
  routes_.push_back({std::move(method), *segments, std::move(handler), key});
}

Router::Match Router::match(const std::string& method, const std::vector<std::string>& path) const {
  Match match;
  const auto allow = [&](const std::string& name) {
    match.allow += (match.allow.empty() ? "" : ", ") + name;
  };
  // The first pattern that fits is the one: a name that is written out stands before a {…} in its place.
  const std::vector<std::string>* pattern = nullptr;
  for (const Route& route : routes_) {
    auto captures = capture(route.segments, path);
    if (!captures || (pattern != nullptr && *pattern != route.segments)) continue;
    pattern = &route.segments;
    allow(route.method);
    match.key = route.key;
    if (route.method == "GET") allow("HEAD");
    if (match.handler == nullptr && (route.method == method || (route.method == "GET" && method == "HEAD"))) {
      match.handler = &route.handler;
      match.captures = std::move(*captures);
    }
  }
  if (!match.allow.empty()) allow("OPTIONS");
  return match;
}

}  // namespace mnistd::api
