#include "api/access.h"

#include <algorithm>
#include <cctype>

#include <httplib.h>

#include "api/problem.h"

namespace mnistd::api {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool changes_state(const std::string& method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

}  // namespace

bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  std::size_t difference = given.size() ^ secret.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned char>(given[i] ^ expected);
  }
  return difference == 0;
}

bool is_same_site(std::string_view origin, std::string_view host) {
  std::string site = lower(origin), name = lower(host);
  std::string_view default_port;
  if (site.starts_with("http://")) {
    site.erase(0, 7);
    default_port = ":80";
  } else if (site.starts_with("https://")) {
    site.erase(0, 8);
    default_port = ":443";
  } else {
    return false;
  }
  if (site.ends_with(default_port)) site.resize(site.size() - default_port.size());
  if (name.ends_with(default_port)) name.resize(name.size() - default_port.size());
  return !site.empty() && site == name;
}

Access::Access(std::string api_key, std::vector<std::string> allowed_origins)
    : api_key_(std::move(api_key)), allowed_origins_(std::move(allowed_origins)) {
  for (std::string& origin : allowed_origins_) {
    origin = lower(origin);
    while (origin.ends_with('/')) origin.pop_back();
  }
}

bool Access::has_key(const httplib::Request& request) const {
  const std::string given = request.get_header_value("Authorization");
  constexpr std::string_view scheme = "bearer ";
  return given.size() > scheme.size() && lower(std::string_view(given).substr(0, scheme.size())) == scheme &&
         equal_in_constant_time(std::string_view(given).substr(scheme.size()), api_key_);
}

bool Access::is_allowed(std::string_view origin) const {
  return std::find(allowed_origins_.begin(), allowed_origins_.end(), lower(origin)) != allowed_origins_.end();
}

void Access::check(const httplib::Request& request, bool open) const {
  const std::string origin = request.get_header_value("Origin");
  if (!origin.empty() && changes_state(request.method) && !is_allowed(origin) &&
      !is_same_site(origin, request.get_header_value("Host")))
    refuse(403, "foreign-origin",
           "The page's origin " + origin.substr(0, 200) +
               " may not change anything here. Start the daemon with --allowed-origin to let it.");
  if (api_key_.empty() || open || request.method == "OPTIONS" || has_key(request)) return;
  Problem problem{401, "unauthorized", "Send the key of --api-key-file as a header: Authorization: Bearer …"};
  problem.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"mnistd\"");
  throw Refusal(std::move(problem));
}

void Access::add_cors(const httplib::Request& request, httplib::Response& response) const {
  if (allowed_origins_.empty()) return;
  response.set_header("Vary", "Origin");
  const std::string origin = request.get_header_value("Origin");
  if (origin.empty() || !is_allowed(origin)) return;
  response.set_header("Access-Control-Allow-Origin", origin);
  response.set_header("Access-Control-Expose-Headers", "ETag, Location, Retry-After");
  if (request.method != "OPTIONS" || !request.has_header("Access-Control-Request-Method")) return;
  response.set_header("Access-Control-Allow-Methods", "GET, HEAD, POST, PATCH, DELETE");
  response.set_header("Access-Control-Allow-Headers",
                      "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID");
  response.set_header("Access-Control-Max-Age", "600");
}

}  // namespace mnistd::api
