// Predicted curves, the stability limit, and jobs that take it as their learning rate.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#include "tests/api/support.h"

namespace mnistd::api {
namespace {

const char* const kForm = "application/x-www-form-urlencoded";

TestJson ended(Live& live, const std::string& id) {
  for (;;) {
    TestJson job = live.get("/v1/jobs/" + id);
    const std::string state = job["state"];
    if (state != "queued" && state != "running") return job;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// What the daemon says of a job that takes a form of these fields.
TestJson posted(Live& live, const std::string& form) {
  auto result = live.client().Post("/v1/jobs", form, kForm);
  REQUIRE(result);
  REQUIRE_MESSAGE(result->status == 202, result->body);
  return TestJson::parse(result->body);
}

}  // namespace

TEST_CASE("a curve is the rows of the job that it predicts, by either solver") {
  Live live;
  const std::string parameters = "learning_rate=0.012&iterations=37&seed=5";
  const TestJson curve = live.get("/v1/datasets/mnist/curve?" + parameters);
  CHECK(curve["columns"] == TestJson({"iteration", "loss"}));
  CHECK(curve["learning_rate"] == 0.012);
  REQUIRE(curve["rows"].size() == 37);
  for (const char* solver : {"gemm", "gram"}) {
    CAPTURE(solver);
    const TestJson job = ended(live, posted(live, parameters + "&solver=" + solver)["id"]);
    CHECK(job["state"] == "succeeded");
    CHECK(job["spec"]["solver"] == solver);
    const TestJson rows = live.get("/v1/jobs/" + std::string(job["id"]) + "/metrics")["rows"];
    REQUIRE(rows.size() == 37);
    for (int i = 0; i < 37; ++i) {
      CHECK(curve["rows"][i][0] == rows[i][0]);
      const double predicted = curve["rows"][i][1], found = rows[i][1];
      CHECK(std::abs(predicted - found) <= 1e-5 * found);
    }
  }
}

TEST_CASE("the stability limit is null until it is known, then the curve's") {
  Live live;
  CHECK(live.get("/v1/datasets/mnist")["stability_limit"].is_null());
  const TestJson curve = live.get("/v1/datasets/mnist/curve?iterations=1");
  const double limit = curve["stability_limit"];
  CHECK(limit > 0);
  CHECK(live.get("/v1/datasets/mnist")["stability_limit"] == limit);
  CHECK(live.get("/v1/datasets")["items"][0]["stability_limit"] == limit);
  CHECK(live.get("/v1/datasets/mnist/curve?learning_rate=auto")["learning_rate"] == 0.5 * limit);
}

TEST_CASE("a curve has the rows that a job reports by default") {
  Live live;
  const TestJson rows = live.get("/v1/datasets/mnist/curve?iterations=1000000")["rows"];
  REQUIRE(rows.size() == 1000);
  CHECK(rows[0][0] == 1);
  CHECK(rows[1][0] == 1002);  // every 1002nd, the smallest step that gives at most 1000
  CHECK(rows.back()[0] == 1000000);
  const TestJson defaults = live.get("/v1/datasets/mnist/curve");
  CHECK(defaults["rows"].size() == 100);
  CHECK(defaults["learning_rate"] == 0.01);
  CHECK(defaults == live.get("/v1/datasets/mnist/curve?learning_rate=0.01&iterations=100&seed=1234567"));
  CHECK(live.get("/v1/datasets/mnist/curve?iterations=1")["rows"].size() == 1);
}

TEST_CASE("above the limit a curve grows, and is null beyond the finite numbers") {
  Live live;
  const TestJson rows = live.get("/v1/datasets/mnist/curve?learning_rate=1&iterations=1000")["rows"];
  std::size_t finite = 0;
  while (finite < rows.size() && !rows[finite][1].is_null()) ++finite;
  CHECK(finite > 10);
  CHECK(finite < rows.size());
  CHECK(rows[finite - 1][1] > 1e290);
  for (std::size_t i = finite; i < rows.size(); ++i) CHECK(rows[i][1].is_null());
}

TEST_CASE("a curve as CSV") {
  Live live;
  auto client = live.client();
  auto by_name = client.Get("/v1/datasets/mnist/curve?iterations=3&format=csv");
  REQUIRE(by_name);
  CHECK(by_name->get_header_value("Content-Type") == "text/csv; charset=utf-8");
  auto by_header = client.Get("/v1/datasets/mnist/curve?iterations=3", {{"Accept", "text/csv"}});
  REQUIRE(by_header);
  CHECK(by_header->body == by_name->body);
  const TestJson rows = live.get("/v1/datasets/mnist/curve?iterations=3")["rows"];
  std::istringstream lines(by_name->body);
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(line == "iteration,loss");
  for (const auto& row : rows) {
    REQUIRE(std::getline(lines, line));
    CHECK(line == row[0].dump() + "," + row[1].dump());
  }
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("a curve's parameters are read strictly") {
  Live live;
  const std::pair<const char*, const char*> table[] = {{"iterations=0", "iterations"},
                                                       {"iterations=1000001", "iterations"},
                                                       {"iterations=3.5", "iterations"},
                                                       {"learning_rate=-0.1", "learning_rate"},
                                                       {"learning_rate=x", "learning_rate"},
                                                       {"learning_rate=", "learning_rate"},
                                                       {"learning_rate=inf", "learning_rate"},
                                                       {"learning_rate=nan", "learning_rate"},
                                                       {"learning_rate=1e39", "learning_rate"},
                                                       {"learning_rate=0.1x", "learning_rate"},
                                                       {"seed=4294967296", "seed"},
                                                       {"seed=-1", "seed"},
                                                       {"rate=1", "rate"},
                                                       {"format=xml", "format"},
                                                       {"seed=1&seed=1", "seed"}};
  for (const auto& [parameters, field] : table) {
    CAPTURE(parameters);
    const TestJson problem = live.get(std::string("/v1/datasets/mnist/curve?") + parameters, 400);
    REQUIRE(problem["errors"].size() == 1);
    CHECK(problem["errors"][0]["field"] == field);
  }
  live.get("/v1/datasets/nope/curve", 404);
  auto wrong = live.client().Post("/v1/datasets/mnist/curve", "", kForm);
  REQUIRE(wrong);
  CHECK(wrong->status == 405);
  CHECK(wrong->get_header_value("Allow") == "GET, HEAD, OPTIONS");
}

TEST_CASE("an automatic rate: the job shows the number, and the key goes with the wish") {
  Live live;
  const TestJson job = posted(live, "iterations=5&learning_rate=auto");
  const double limit = live.get("/v1/datasets/mnist")["stability_limit"];
  CHECK(job["spec"]["learning_rate"] == 0.5 * limit);
  CHECK(job["warnings"].empty());
  CHECK(ended(live, job["id"])["state"] == "succeeded");

  auto client = live.client();
  const httplib::Headers key = {{"Idempotency-Key", "k"}};
  const auto post = [&](const char* body) { return client.Post("/v1/jobs", key, body, "application/json"); };
  const auto first = post(R"({"iterations":5,"learning_rate":"auto"})");
  const auto again = post(R"({"learning_rate":"auto","iterations":5})");
  REQUIRE(again);
  CHECK(again->status == 202);
  CHECK(again->get_header_value("Idempotency-Replayed") == "true");
  CHECK(TestJson::parse(again->body)["id"] == TestJson::parse(first->body)["id"]);
  CHECK(post(R"({"iterations":5,"learning_rate":0.01})")->status == 422);
}

TEST_CASE("a job above the limit says so, and then which iteration it was") {
  Live live;
  const double limit = live.get("/v1/datasets/mnist/curve?iterations=1")["stability_limit"];
  char named[32];
  std::snprintf(named, sizeof named, "%.6g", limit);
  for (const char* solver : {"gemm", "gram"}) {
    const TestJson job = posted(live, std::string("iterations=100000&learning_rate=1&solver=") + solver);
    REQUIRE(job["warnings"].size() == 1);
    CHECK(contains(job["warnings"][0], std::string("stability limit of mnist, ") + named));
    const TestJson failed = ended(live, job["id"]);
    CHECK(failed["state"] == "failed");
    CHECK(failed["warnings"] == job["warnings"]);
    CHECK(failed["error"]["code"] == "diverged");
    CHECK(contains(failed["error"]["message"],
                   "at iteration " + failed["progress"]["iteration"].dump() + " with learning rate 1"));
    CHECK(contains(failed["error"]["message"], named));
  }
}

}  // namespace mnistd::api
