// One request with its answer, as a route sees it, and the readers of its body.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <httplib.h>

#include "api/query.h"
#include "api/strict_json.h"

namespace mnistd::api {

inline constexpr std::size_t kBodyBytes = 8 * 1024 * 1024;  // of any body

struct Context;

enum class BodyState { none, unread, read, lost };  // lost: the connection can't be used for another request

class Exchange {
 public:
  // `reader` is null for methods that httplib reads no body of (GET, HEAD, OPTIONS).
  Exchange(Context& context, const httplib::Request& request, httplib::Response& response,
           const httplib::ContentReader* reader);

  Context& context;
  const httplib::Request& request;
  httplib::Response& response;
  Query query;
  std::vector<std::string> captures;  // of the route's {…}, in order

  std::string header(const char* name) const { return request.get_header_value(name); }
  // The Content-Type without parameters, in lower case; empty where there is none.
  std::string content_type() const;

  BodyState body_state() const { return body_state_; }
  // The whole body, empty where there is none. Throws Refusal: 413 beyond `longest` (named by `what`, "a job"), 400 where
  // it was cut short, 415 for multipart (which has no plain bytes).
  std::string read_body(std::size_t longest, const std::string& what);
  // Reads and forgets what is left of a body, so that the connection can go on; where that would take long, it is lost.
  void discard_body();

 private:
  bool receive(const std::function<bool(const char*, std::size_t)>& take);

  const httplib::ContentReader* reader_;
  BodyState body_state_;
};

// The body of a JSON object or a form, as an object; no body is {}. A form's values become numbers where they read as
// numbers, and strings otherwise; an empty value is null. `what` names the thing in messages ("a job").
Json read_object(Exchange& exchange, const std::string& what);

}  // namespace mnistd::api
