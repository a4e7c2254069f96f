#include "api/job_request.h"

#include <doctest/doctest.h>

#include "api/problem.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

const server::Datasets kDatasets = {{"mnist", nullptr}, {"letters", nullptr}};

server::Daemon::Submission parse(const std::string& body, const std::string& key = "") {
  return parse_submission(parse_json(body), key, kDatasets);
}

// The errors of a body as "field: message" lines.
std::vector<std::string> errors_of(const std::string& body, const std::string& key = "") {
  std::vector<std::string> lines;
  try {
    parse(body, key);
  } catch (const Refusal& refusal) {
    CHECK(refusal.problem().status == 400);
    for (const FieldError& error : refusal.problem().errors)
      lines.push_back(error.field + ": " + error.message);
  }
  return lines;
}

}  // namespace

TEST_CASE("no fields are the defaults") {
  const auto submission = parse("{}");
  CHECK(submission.spec.train.iterations == 100);
  CHECK(submission.spec.train.learning_rate == 0.01);
  CHECK(submission.spec.train.seed == 1234567);
  CHECK(submission.spec.train.report_every == 1);
  CHECK(submission.spec.dataset == "mnist");
  CHECK(submission.spec.model == "linear");
  CHECK(!submission.name);
  CHECK(!submission.idempotency);
}

TEST_CASE("fields are taken as given") {
  const auto submission = parse(
      R"({"iterations":1000000,"learning_rate":0,"solver":"gemm","dataset":"letters","model":"linear","seed":4294967295,)"
      R"("name":"ä😀"})");
  CHECK(submission.spec.train.iterations == 1'000'000);
  CHECK(submission.spec.train.learning_rate == 0);
  CHECK(submission.spec.train.seed == 4294967295u);
  CHECK(submission.spec.train.report_every == model::default_report_every(1'000'000));
  CHECK(submission.spec.dataset == "letters");
  CHECK(submission.name == "ä😀");
  CHECK(!parse(R"({"name":null})").name);
  CHECK(parse(R"({"iterations":3.0,"report_every":3})").spec.train.report_every == 3);
}

TEST_CASE("each bad field has its message") {
  const std::string hundred_and_one(101, 'x');
  const std::pair<std::string, std::string> table[] = {
      {R"({"iterations":0})", "iterations: must be a whole number from 1 to 1000000, found 0"},
      {R"({"iterations":1000001})", "iterations: must be a whole number from 1 to 1000000, found 1000001"},
      {R"({"iterations":3.9})", "iterations: must be a whole number from 1 to 1000000, found 3.9"},
      {R"({"iterations":true})", "iterations: must be a whole number from 1 to 1000000, found true"},
      {R"({"iterations":"3"})", "iterations: must be a whole number from 1 to 1000000, found \"3\""},
      {R"({"iterations":null})", "iterations: must be a whole number from 1 to 1000000, found null"},
      {R"({"iterations":4294967297})",
       "iterations: must be a whole number from 1 to 1000000, found 4294967297"},
      {R"({"learning_rate":-0.1})", "learning_rate: must be a number, at least 0, or \"auto\", found -0.1"},
      {R"({"learning_rate":"0.1"})",
       "learning_rate: must be a number, at least 0, or \"auto\", found \"0.1\""},
      {R"({"learning_rate":false})", "learning_rate: must be a number, at least 0, or \"auto\", found false"},
      {R"({"learning_rate":1e39})",
       "learning_rate: is beyond the largest 32-bit floating-point number, found 1e+39"},
      {R"({"learning_rate":"Auto"})",
       "learning_rate: must be a number, at least 0, or \"auto\", found \"Auto\""},
      {R"({"solver":"gem"})", "solver: is not known: \"gem\"; available: gemm, gram"},
      {R"({"solver":1})", "solver: must be a string, found 1"},
      {R"({"model":"softmax"})", "model: \"softmax\" is not available yet; available: linear"},
      {R"({"model":"cnn"})", "model: \"cnn\" is not available yet; available: linear"},
      {R"({"model":"tree"})", "model: is not known: \"tree\"; available: linear"},
      {R"({"dataset":"cifar"})", "dataset: is not known: \"cifar\"; available: letters, mnist"},
      {R"({"seed":4294967296})", "seed: must be a whole number from 0 to 4294967295, found 4294967296"},
      {R"({"seed":-1})", "seed: must be a whole number from 0 to 4294967295, found -1"},
      {R"({"iterations":10,"report_every":11})",
       "report_every: must be a whole number from 1 to 10, found 11"},
      {R"({"name":")" + hundred_and_one + "\"}", "name: must have at most 100 characters, found 101"},
      {R"({"name":"a\u0000b"})", "name: must not hold control characters"},
      {R"({"name":3})", "name: must be a string, found 3"},
      {R"({"learningrate":1})",
       "learningrate: is not a field here; there are: dataset, iterations, learning_rate, model, name, "
       "report_every, "
       "seed, solver"},
      {"[]", ": the body must be a JSON object, found []"},
      {"3", ": the body must be a JSON object, found 3"},
  };
  for (const auto& [body, message] : table) {
    CAPTURE(body);
    CHECK(errors_of(body) == std::vector<std::string>{message});
  }
}

TEST_CASE("all errors are told at once") {
  CHECK(errors_of(R"({"iterations":0,"solver":"x","seed":0.5,"nonsense":1})").size() == 4);
}

TEST_CASE("an idempotency key goes with the request in one form") {
  const auto first = parse("{}", "key"), same = parse(R"({"iterations":100.0,"learning_rate":1e-2})", "key"),
             other = parse(R"({"iterations":101})", "key");
  REQUIRE(first.idempotency);
  CHECK(first.idempotency->key == "key");
  CHECK(first.idempotency->request == same.idempotency->request);
  CHECK(first.idempotency->request != other.idempotency->request);
  CHECK(errors_of("{}", std::string(200, 'k')).empty());
  CHECK(errors_of("{}", std::string(201, 'k')).size() == 1);
  CHECK(errors_of("{}", "a\xFF").size() == 1);
}

TEST_CASE("a new name is a string or null") {
  CHECK(parse_name(parse_json(R"({"name":"x"})")) == "x");
  CHECK(!parse_name(parse_json(R"({"name":null})")));
  for (const char* body : {"{}", R"({"name":1})", R"({"name":"x","state":"y"})", "[]"})
    CHECK_THROWS_AS(parse_name(parse_json(body)), Refusal);
}

}  // namespace mnistd::api
