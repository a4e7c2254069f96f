// From a request to its answer: access, routes, and a problem for everything that goes wrong on the way.
#pragma once

#include <vector>

#include <httplib.h>

#include "api/access.h"
#include "api/context.h"
#include "api/router.h"

namespace mnistd::api {

class Dispatcher {
 public:
  Dispatcher(Context& context, Access access);

  // Answers; does not throw. `reader` is null for methods that httplib reads no body of.
  void dispatch(const httplib::Request& request, httplib::Response& response,
                const httplib::ContentReader* reader) const;
  // What every answer carries, also those that httplib made by itself.
  void finish(const httplib::Request& request, httplib::Response& response) const;

 private:
  void route(class Exchange& exchange) const;
  void answer_options(Exchange& exchange, const std::string& allow) const;

  Context& context_;
  Access access_;
  Router router_;
};

// Turns an error of httplib's own (404, 413, 400…) into a problem; leaves answers of ours alone.
void complete_error(const httplib::Request& request, httplib::Response& response);

}  // namespace mnistd::api
