// Who may call: the API key, and pages of other origins.
//
// A browser sends requests for any page that asks; what keeps a foreign page from starting jobs here is the Origin header,
// which a page can't forge. A request with the Origin of another site, not allowed by name, changes nothing (403), and
// without CORS headers its page may not read anything either. Programs send no Origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace httplib {
struct Request;
struct Response;
}  // namespace httplib

namespace mnistd::api {

class Access {
 public:
  Access(std::string api_key, std::vector<std::string> allowed_origins);

  // Throws Refusal 401 or 403. `open` routes need no key.
  void check(const httplib::Request& request, bool open) const;
  // Adds the CORS headers where the Origin is an allowed one.
  void add_cors(const httplib::Request& request, httplib::Response& response) const;

 private:
  bool has_key(const httplib::Request& request) const;
  bool is_allowed(std::string_view origin) const;

  std::string api_key_;
  std::vector<std::string> allowed_origins_;
};

// Takes as long for a key that differs in its first byte as for one that differs in its last.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

// Whether `origin` ("http://localhost:8906") is the site that `host` ("localhost:8906") names.
bool is_same_site(std::string_view origin, std::string_view host);

}  // namespace mnistd::api
