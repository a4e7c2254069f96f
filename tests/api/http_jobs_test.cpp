#include <doctest/doctest.h>

#include "tests/api/support.h"

namespace mnistd::api {

TEST_CASE("a job by JSON, by form, and by nothing at all") {
  Live live;
  auto client = live.client();
  const char* form = "application/x-www-form-urlencoded";
  const std::tuple<std::string, const char*, int> table[] = {
      {R"({"iterations":3})", "application/json", 3},
      {R"({"iterations":3})", "application/json; charset=utf-8", 3},
      {" \n {\"iterations\":3}", form, 3},
      {"iterations=3&learning_rate=0.5&name=hello+w%C3%B6rld", form, 3},
      {"{}", "application/json", 100},
      {"", form, 100},
      {"  ", "application/json", 100}};
  for (const auto& [body, type, iterations] : table) {
    CAPTURE(body);
    auto result = client.Post("/v1/jobs", body, type);
    REQUIRE(result);
    REQUIRE_MESSAGE(result->status == 202, result->body);
    const TestJson job = TestJson::parse(result->body);
    CHECK(job["spec"]["iterations"] == iterations);
    CHECK(result->get_header_value("Location") == "/v1/jobs/" + std::string(job["id"]));
    if (contains(body, "name=")) {
      CHECK(job["name"] == "hello wörld");
      CHECK(job["spec"]["learning_rate"] == 0.5);
    }
  }
}

TEST_CASE("bodies that are wrong say how") {
  Live live;
  auto client = live.client();
  const auto problem = [&](const std::string& body, const char* type) {
    return problem_of(client.Post("/v1/jobs", body, type));
  };
  const char* form = "application/x-www-form-urlencoded";
  CHECK(problem("iterations=1&iterations=2", form)["errors"] ==
        TestJson::array({{{"field", "iterations"}, {"message", "is there twice"}}}));
  CHECK(problem("iterations=abc", form)["errors"][0]["message"] ==
        "must be a whole number from 1 to 1000000, found \"abc\"");
  CHECK(problem("iterations=3.9", form)["errors"][0]["message"] ==
        "must be a whole number from 1 to 1000000, found 3.9");
  CHECK(problem("iterations=0x10", form)["status"] == 400);
  CHECK(problem("solver=gem", form)["errors"][0]["field"] == "solver");
  CHECK(problem("what", form)["errors"][0]["field"] == "what");
  CHECK(contains(problem("iterations=3", "application/json")["detail"], "looks like a form"));
  CHECK(problem("{\"iterations\":1,\"iterations\":2}", "application/json")["type"] ==
        "/problems/invalid-json");
  CHECK(problem("[1]", form)["status"] == 400);
  for (const char* type : {"text/xml", "image/png", "text/plain", "application/octet-stream"})
    CHECK(problem("{}", type)["status"] == 415);
  CHECK(problem("{}", "application/json; charset=latin1")["status"] == 415);
  httplib::MultipartFormDataItems items = {{"iterations", "3", "", ""}};
  CHECK(problem_of(client.Post("/v1/jobs", items))["status"] == 415);
  CHECK(live.get("/v1/jobs")["items"].empty());
}

TEST_CASE("a key gives the same job again, and another body is a mismatch") {
  Live live;
  auto client = live.client();
  const httplib::Headers key = {{"Idempotency-Key", "k-1"}};
  auto first = client.Post("/v1/jobs", key, R"({"iterations":3})", "application/json");
  auto second = client.Post("/v1/jobs", key, "iterations=3", "application/x-www-form-urlencoded");
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->status == 202);
  CHECK(second->status == 202);
  CHECK(TestJson::parse(first->body)["id"] == TestJson::parse(second->body)["id"]);
  CHECK(first->get_header_value("Location") == second->get_header_value("Location"));
  auto other = client.Post("/v1/jobs", key, R"({"iterations":4})", "application/json");
  CHECK(problem_of(other)["status"] == 422);
  CHECK(problem_of(other)["type"] == "/problems/idempotency-mismatch");
  const httplib::Headers long_key = {{"Idempotency-Key", std::string(201, 'k')}};
  CHECK(problem_of(client.Post("/v1/jobs", long_key, "{}", "application/json"))["errors"][0]["field"] ==
        "Idempotency-Key");
  CHECK(live.get("/v1/jobs")["items"].size() == 1);
}

TEST_CASE("a full queue is 503 with Retry-After") {
  LiveOptions options;
  options.queue_limit = 1;
  Live live(options);
  const std::string running = live.start_long_job();
  live.post_job({{"iterations", 1}});
  auto refused = live.client().Post("/v1/jobs", "{}", "application/json");
  CHECK(problem_of(refused)["status"] == 503);
  CHECK(problem_of(refused)["type"] == "/problems/unavailable");
  CHECK(refused->get_header_value("Retry-After") == "5");
  live.client().Delete(("/v1/jobs/" + running).c_str());
}

TEST_CASE("the list is newest first, by pages and by state") {
  Live live;
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.insert(ids.begin(), live.train(1));
  std::vector<std::string> listed;
  std::string query = "?limit=2";
  for (;;) {
    const TestJson page = live.get("/v1/jobs" + query);
    CHECK(page["items"].size() <= 2);
    for (const TestJson& job : page["items"]) listed.push_back(job["id"]);
    if (page["next_cursor"].is_null()) break;
    query = "?limit=2&cursor=" + std::string(page["next_cursor"]);
  }
  CHECK(listed == ids);
  CHECK(live.get("/v1/jobs?state=succeeded")["items"].size() == 5);
  CHECK(live.get("/v1/jobs?state=failed")["items"].empty());
  for (const char* bad : {"?limit=0", "?limit=1001", "?limit=x", "?cursor=nope", "?state=done", "?page=2"})
    CHECK(live.get(std::string("/v1/jobs") + bad, 400)["type"] == "/problems/invalid-input");
}

TEST_CASE("one job: ETag, rename, cancel, purge") {
  Live live;
  auto client = live.client();
  const std::string id = live.train(2), path = "/v1/jobs/" + id;
  auto got = client.Get(path.c_str());
  REQUIRE(got);
  const std::string etag = got->get_header_value("ETag");
  auto same = client.Get(path.c_str(), httplib::Headers{{"If-None-Match", etag}});
  REQUIRE(same);
  CHECK(same->status == 304);
  CHECK(same->body.empty());

  auto renamed = client.Patch(path.c_str(), R"({"name":"näme"})", "application/json");
  REQUIRE(renamed);
  CHECK(renamed->status == 200);
  CHECK(live.get(path)["name"] == "näme");
  auto changed = client.Get(path.c_str(), httplib::Headers{{"If-None-Match", etag}});
  REQUIRE(changed);
  CHECK(changed->status == 200);
  CHECK(problem_of(client.Patch(path.c_str(), R"({"state":"x"})", "application/json"))["errors"].size() == 2);
  auto unnamed = client.Patch(path.c_str(), R"({"name":null})", "application/json");
  REQUIRE(unnamed);
  CHECK(live.get(path)["name"].is_null());

  for (int i = 0; i < 2; ++i) {  // harmless on an ended job, also twice
    auto cancelled = client.Delete(path.c_str());
    REQUIRE(cancelled);
    CHECK(cancelled->status == 200);
    CHECK(TestJson::parse(cancelled->body)["state"] == "succeeded");
  }
  auto purged = client.Delete((path + "?purge=1").c_str());
  REQUIRE(purged);
  CHECK(purged->status == 204);
  live.get(path, 404);
  live.get("/v1/models/" + id, 404);
  CHECK(problem_of(client.Delete((path + "?purge=1").c_str()))["status"] == 404);
  CHECK(problem_of(client.Delete(path.c_str()))["status"] == 404);
  CHECK(problem_of(client.Patch(path.c_str(), "{}", "application/json"))["status"] == 404);
  CHECK(problem_of(client.Delete("/v1/jobs/x?purge=maybe"))["status"] == 400);
}

TEST_CASE("a running job is cancelled and keeps its metrics; it can't be purged before") {
  Live live;
  auto client = live.client();
  const std::string id = live.start_long_job(), path = "/v1/jobs/" + id;
  CHECK(problem_of(client.Delete((path + "?purge=1").c_str()))["type"] == "/problems/not-ended");
  auto cancelled = client.Delete(path.c_str());
  REQUIRE(cancelled);
  CHECK((cancelled->status == 202 || cancelled->status == 200));
  CHECK(live.wait_for_end(id)["state"] == "cancelled");
  CHECK(live.get(path + "/metrics")["rows"][0][0] == 1);
}

TEST_CASE("metrics as JSON and CSV, from an iteration on") {
  Live live;
  auto client = live.client();
  const std::string id = live.train(20), path = "/v1/jobs/" + id + "/metrics";
  const TestJson table = live.get(path);
  CHECK(table["columns"] == TestJson{"iteration", "loss", "train_accuracy", "test_accuracy", "elapsed_ms"});
  REQUIRE(table["rows"].size() == 20);
  const auto stored = live.daemon().metrics(id, 0, 100);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(table["rows"][i][0] == stored[i].iteration);
    CHECK(table["rows"][i][1] == stored[i].loss);
    CHECK(table["rows"][i][3] == stored[i].test_accuracy);
  }
  CHECK(live.get(path + "?since=17")["rows"].size() == 3);
  CHECK(live.get(path + "?since=20")["rows"].empty());
  auto csv = client.Get((path + "?since=18").c_str(), httplib::Headers{{"Accept", "text/csv"}});
  REQUIRE(csv);
  CHECK(csv->get_header_value("Content-Type") == "text/csv; charset=utf-8");
  CHECK(csv->body.rfind("iteration,loss,train_accuracy,test_accuracy,elapsed_ms\n19,", 0) == 0);
  CHECK(std::count(csv->body.begin(), csv->body.end(), '\n') == 3);
  auto by_format = client.Get((path + "?since=18&format=csv").c_str());
  REQUIRE(by_format);
  CHECK(by_format->body == csv->body);
  live.get(path + "?since=-1", 400);
  live.get(path + "?since=1.5", 400);
  live.get(path + "?format=xml", 400);
  live.get("/v1/jobs/nope/metrics", 404);
}

TEST_CASE("more rows than fit in a batch come streamed and complete") {
  Live live;
  auto client = live.client();
  const std::string id =
      live.post_job({{"iterations", 2500}, {"report_every", 1}, {"learning_rate", 0.001}})["id"];
  CHECK(live.wait_for_end(id)["state"] == "succeeded");
  for (int since : {0, 499, 500, 501}) {
    const TestJson table = live.get("/v1/jobs/" + id + "/metrics?since=" + std::to_string(since));
    REQUIRE(table["rows"].size() == static_cast<std::size_t>(2500 - since));
    for (std::size_t i = 0; i < table["rows"].size(); ++i)
      REQUIRE(table["rows"][i][0] == since + static_cast<int>(i) + 1);
  }
  auto csv = client.Get(("/v1/jobs/" + id + "/metrics?format=csv").c_str());
  REQUIRE(csv);
  CHECK(std::count(csv->body.begin(), csv->body.end(), '\n') == 2501);
}

}  // namespace mnistd::api
