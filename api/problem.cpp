#include "api/problem.h"

#include <map>
#include <nlohmann/json.hpp>

#include <httplib.h>
#include <spdlog/spdlog.h>

#include "api/reply.h"
#include "model/idx_file.h"
#include "server/errors.h"

namespace mnistd::api {
namespace {

// A type has one title (RFC 9457 §3.1.3), so it hangs on the code and not on the occasion.
std::string title_of(const Problem& problem) {
  static const std::map<std::string, std::string> titles = {
      {"invalid-input", "The request has invalid input"},
      {"invalid-json", "The body is no valid JSON"},
      {"invalid-request", "The request is malformed"},
      {"request-timeout", "The request took too long"},
      {"length-required", "The body needs a Content-Length"},
      {"headers-too-large", "The headers are too large"},
      {"unsupported-method", "The method is not known"},
      {"unsupported-version", "The version of HTTP is not spoken here"},
      {"body-cut-short", "The body ended too early"},
      {"body-not-expected", "This request takes no body"},
      {"unauthorized", "An API key is needed"},
      {"foreign-origin", "Pages of other sites may not do this"},
      {"not-found", "There is no such thing"},
      {"not-available-yet", "Not available yet"},
      {"method-not-allowed", "The method is not allowed here"},
      {"not-acceptable", "No representation of that type"},
      {"no-model", "There is no model yet"},
      {"not-ended", "The job has not ended"},
      {"too-large", "The body is too large"},
      {"uri-too-long", "The address is too long"},
      {"unsupported-type", "The body has an unsupported type"},
      {"range-not-satisfiable", "The range can't be given"},
      {"idempotency-mismatch", "The idempotency key was used for another request"},
      {"unavailable", "Try again later"},
      {"not-ready", "The daemon is not ready"},
      {"overloaded", "Too many connections"},
      {"store-error", "The store failed"},
      {"internal-error", "Something went wrong inside"}};
  const auto found = titles.find(problem.code);
  return found != titles.end() ? found->second : problem.code;
}

}  // namespace

void refuse(int status, std::string code, std::string detail) {
  throw Refusal(Problem{status, std::move(code), std::move(detail)});
}

void refuse_fields(std::vector<FieldError> errors) {
  std::string detail;
  for (const FieldError& error : errors) {
    if (!detail.empty()) detail += "; ";
    detail += error.field.empty() ? error.message : error.field + ": " + error.message;
  }
  Problem problem{400, "invalid-input", std::move(detail)};
  problem.errors = std::move(errors);
  throw Refusal(std::move(problem));
}

Problem to_problem(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const Refusal& refusal) {
    return refusal.problem();
  } catch (const server::NotFound& absent) {
    return {404, "not-found", absent.what()};
  } catch (const server::WrongState& state) {
    return {409, state.code(), state.what()};
  } catch (const server::Unavailable& unavailable) {
    Problem problem{503, "unavailable", unavailable.what()};
    problem.headers.emplace_back("Retry-After", std::to_string(unavailable.retry_after_s()));
    return problem;
  } catch (const server::IdempotencyMismatch& mismatch) {
    return {422, "idempotency-mismatch", mismatch.what()};
  } catch (const server::StoreError& store) {
    spdlog::error("store: {}", store.what());
    Problem problem{503, "store-error", store.what()};
    problem.headers.emplace_back("Retry-After", "5");
    return problem;
  } catch (const std::exception& other) {
    spdlog::error("a request failed: {}", other.what());
  } catch (...) {
    spdlog::error("a request failed with something that is no exception");
  }
  return {500, "internal-error", "The daemon's log says more."};
}

Problem problem_for_status(int status) {
  switch (status) {
    case 400:
      return {400, "invalid-request", "The request could not be read: its address or its body is malformed."};
    case 404:
      return {404, "not-found", "There is nothing at this address."};
    case 413:
      return {413, "too-large", "The body is larger than the 8 MiB that the daemon takes."};
    case 414:
      return {414, "uri-too-long", "The address is longer than 8192 bytes; send pixels in a body."};
    case 415:
      return {415, "unsupported-type", "The body's Content-Encoding is not supported."};
    case 416:
      return {416, "range-not-satisfiable", "The Range header is malformed; ranges are not served here."};
    default:
      break;
  }
  if (status < 500) return {status, "invalid-request", "The request was refused."};
  return {status, "internal-error", "The daemon's log says more."};
}

std::string to_json_text(const Problem& problem) {
  nlohmann::ordered_json body = {{"type", "/problems/" + problem.code},
                                 {"title", title_of(problem)},
                                 {"status", problem.status},
                                 {"detail", problem.detail}};
  if (!problem.errors.empty()) {
    auto& errors = body["errors"] = nlohmann::ordered_json::array();
    for (const FieldError& error : problem.errors)
      errors.push_back({{"field", error.field}, {"message", error.message}});
  }
  if (!problem.reasons.empty()) body["reasons"] = problem.reasons;
  return dump(body);
}

void write_problem(httplib::Response& response, const Problem& problem) {
  for (const auto& [name, value] : problem.headers) response.set_header(name, value);
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  reply_bytes(response, problem.status, to_json_text(problem), "application/problem+json");
}

}  // namespace mnistd::api
