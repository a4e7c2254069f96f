#include "api/dispatcher.h"

#include <optional>

#include "api/connection_pool.h"
#include "api/problem.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"

namespace mnistd::api {
namespace {

// Ranges are not served. httplib would cut the answer by them whatever its status, and repeat it for each of a thousand,
// so they are taken away; the object is httplib's own and not const, only the view of it is.
void drop_ranges(const httplib::Request& request) { const_cast<httplib::Request&>(request).ranges.clear(); }

std::string_view path_of(const httplib::Request& request) {
  const std::string_view target = request.target;
  return target.substr(0, target.find_first_of("?#"));
}

Problem overloaded() {
  Problem problem{503, "overloaded", "All connections are in use. Try again, or close event streams."};
  problem.headers.emplace_back("Retry-After", "2");
  return problem;
}

}  // namespace

Dispatcher::Dispatcher(Context& context, Access access) : context_(context), access_(std::move(access)) {
  add_job_routes(router_);
  add_metrics_routes(router_);
  add_event_routes(router_);
  add_model_routes(router_);
  add_predict_routes(router_);
  add_curve_routes(router_);
  add_dataset_routes(router_);
  add_system_routes(router_);
  add_dashboard_routes(router_);
}

void Dispatcher::dispatch(const httplib::Request& request, httplib::Response& response,
                          const httplib::ContentReader* reader) const {
  drop_ranges(request);
  std::optional<Exchange> exchange;
  bool in_step = false;  // whether the connection can take another request
  try {
    in_step = !request.has_header("Content-Length");
    exchange.emplace(context_, request, response, reader);
    in_step = true;
    route(*exchange);
  } catch (...) {
    response.headers.erase("Cache-Control");
    write_problem(response, to_problem(std::current_exception()));
  }
  if (exchange) {
    const int status = response.status;  // httplib's reader puts its own there when a body is bad
    try {
      exchange->discard_body();
    } catch (...) {
      in_step = false;
    }
    response.status = status;
    if (exchange->body_state() == BodyState::lost) in_step = false;
  }
  if (!in_step || ConnectionPool::is_overflow()) close_after(response);
}

void Dispatcher::route(Exchange& exchange) const {
  const httplib::Request& request = exchange.request;
  const std::string_view path = path_of(request);
  const bool is_health = path == "/healthz" || path == "/readyz";
  if (ConnectionPool::is_overflow() && !is_health) throw Refusal(overloaded());
  if (path == "*") return answer_options(exchange, "GET, HEAD, POST, PATCH, DELETE, OPTIONS");
  const auto segments = split_path(path);
  Router::Match match;
  if (segments) match = router_.match(request.method, *segments);
  access_.check(request, match.key == Router::Key::not_needed);
  if (match.allow.empty()) {
    const std::string readable = percent_decode(path.substr(0, 200), false).value_or(std::string(path));
    refuse(404, "not-found", "There is nothing at " + readable + ".");
  }
  if (match.handler == nullptr) {
    if (request.method == "OPTIONS") return answer_options(exchange, match.allow);
    Problem problem{405, "method-not-allowed",
                    request.method + " is not allowed here; allowed: " + match.allow + "."};
    problem.headers.emplace_back("Allow", match.allow);
    throw Refusal(std::move(problem));
  }
  if (exchange.body_state() != BodyState::none && (request.method == "GET" || request.method == "HEAD"))
    refuse(400, "body-not-expected",
           "A " + request.method +
               " takes no body here. Send it with POST (curl: leave out -X GET and -G), or put "
               "what you ask for in the address.");
  exchange.captures = std::move(match.captures);
  (*match.handler)(exchange);
}

void Dispatcher::answer_options(Exchange& exchange, const std::string& allow) const {
  exchange.response.set_header("Allow", allow);
  reply_empty(exchange.response, 204);
}

void Dispatcher::finish(const httplib::Request& request, httplib::Response& response) const {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Date", http_date());
  response.headers.erase("Accept-Ranges");
  if (response.status == 204 || response.status == 304) response.headers.erase("Content-Length");
  // HEAD of a stream, which has no length; no other 200 is empty.
  if (request.method == "HEAD" && response.status == 200 &&
      response.get_header_value("Content-Length") == "0")
    response.headers.erase("Content-Length");
  access_.add_cors(request, response);
}

void complete_error(const httplib::Request& request, httplib::Response& response) {
  if (response.has_header("Content-Type")) return;
  drop_ranges(request);
  write_problem(response, problem_for_status(response.status));
}

}  // namespace mnistd::api
