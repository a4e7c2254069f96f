// What goes wrong, as clients see it: problem+json of RFC 9457. `type` is always "/problems/<code>", and a code is short,
// stable and the same whatever the words of `detail` become.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace httplib {
struct Response;
}

namespace mnistd::api {

struct FieldError {
  std::string field;  // of the JSON object or form, of the query, or a header's name
  std::string message;
};

struct Problem {
  int status = 500;
  std::string code = "internal-error";
  std::string detail;  // what was found, what was expected, what to do
  std::vector<FieldError> errors = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // Allow, Retry-After, …
  std::vector<std::string> reasons = {};                          // of /readyz
};

// Thrown by routes and readers of input; the dispatcher writes the problem.
class Refusal : public std::runtime_error {
 public:
  explicit Refusal(Problem problem) : std::runtime_error(problem.detail), problem_(std::move(problem)) {}
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
};

[[noreturn]] void refuse(int status, std::string code, std::string detail);
// 400 "invalid-input" that lists every error; `errors` must not be empty.
[[noreturn]] void refuse_fields(std::vector<FieldError> errors);

// A problem for whatever was thrown: the server's errors by name, anything else a 500 that is logged and tells no secrets.
Problem to_problem(std::exception_ptr error);
// A problem for a status that httplib chose by itself.
Problem problem_for_status(int status);

std::string to_json_text(const Problem& problem);
void write_problem(httplib::Response& response, const Problem& problem);

}  // namespace mnistd::api
