#include <doctest/doctest.h>

#include "api/sse.h"
#include "tests/api/raw_client.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

using server::EventPosition;

struct Event {
  std::string id, kind, data;
  bool operator==(const Event&) const = default;
};

// Reads a finished event stream: comments and the retry field are left out.
std::vector<Event> parse_events(const std::string& text) {
  std::vector<Event> events;
  Event event;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.rfind("id: ", 0) == 0) event.id = line.substr(4);
    if (line.rfind("event: ", 0) == 0) event.kind = line.substr(7);
    if (line.rfind("data: ", 0) == 0) event.data = line.substr(6);
    if (line.empty() && !event.id.empty()) events.push_back(std::exchange(event, {}));
  }
  return events;
}

std::vector<Event> events_after(Live& live, const std::string& job, const std::string& last_id) {
  httplib::Headers headers;
  if (!last_id.empty()) headers.emplace("Last-Event-ID", last_id);
  auto result = live.client().Get(("/v1/jobs/" + job + "/events").c_str(), headers);
  REQUIRE(result);
  if (result->status == 204) return {};
  REQUIRE(result->status == 200);
  CHECK(result->get_header_value("Content-Type") == "text/event-stream");
  CHECK(result->get_header_value("Cache-Control") == "no-store");
  return parse_events(result->body);
}

}  // namespace

TEST_CASE("event ids name positions, and nothing else is an id") {
  const auto id = [](int iteration, EventPosition::Rank rank, server::JobState state) {
    return event_id({{iteration, rank}, state, {}});
  };
  using server::JobState;
  CHECK(id(0, EventPosition::queued, JobState::queued) == "0-queued");
  CHECK(id(0, EventPosition::running, JobState::running) == "0-running");
  CHECK(id(17, EventPosition::progress, JobState::running) == "17");
  CHECK(id(300, EventPosition::final_state, JobState::succeeded) == "300-succeeded");
  CHECK(id(0, EventPosition::final_state, JobState::cancelled) == "0-cancelled");
  CHECK(id(300, EventPosition::end, JobState::failed) == "300-end");
  CHECK(parse_event_id("0-queued") == EventPosition{0, EventPosition::queued});
  CHECK(parse_event_id("0-running") == EventPosition{0, EventPosition::running});
  CHECK(parse_event_id("17") == EventPosition{17, EventPosition::progress});
  CHECK(parse_event_id("300-failed") == EventPosition{300, EventPosition::final_state});
  CHECK(parse_event_id("300-end") == EventPosition{300, EventPosition::end});
  for (const char* bad : {"", "0", "-1", "1-queued", "5-running", "x", "1x", "01", "1-", "1-END", "-end",
                          "1-end ", " 1", "+1", "1000001", "99999999999", "1.0"})
    CHECK_MESSAGE(!parse_event_id(bad), bad);
}

TEST_CASE("a job's events come in order, and go on after every id without gap or double") {
  Live live;
  const std::string job = live.train(25);
  const auto all = events_after(live, job, "");
  REQUIRE(all.size() == 2 + 25 + 2);
  CHECK(all[0] == Event{"0-queued", "state", R"({"state":"queued"})"});
  CHECK(all[1] == Event{"0-running", "state", R"({"state":"running"})"});
  for (int k = 1; k <= 25; ++k) {
    const Event& event = all[static_cast<std::size_t>(k) + 1];
    CHECK(event.id == std::to_string(k));
    CHECK(event.kind == "progress");
    CHECK(TestJson::parse(event.data)["iteration"] == k);
  }
  CHECK(all[27] == Event{"25-succeeded", "state", R"({"state":"succeeded"})"});
  CHECK(all[28].id == "25-end");
  const TestJson end = TestJson::parse(all[28].data);
  CHECK(end["state"] == "succeeded");
  CHECK(end["error"].is_null());
  CHECK(end["result"] == live.get("/v1/jobs/" + job)["result"]);

  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<Event> rest(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
    CHECK(events_after(live, job, all[i].id) == rest);
  }
  auto by_query = live.client().Get(("/v1/jobs/" + job + "/events?last_event_id=24").c_str());
  REQUIRE(by_query);
  CHECK(parse_events(by_query->body).size() == 3);
  auto ended = live.client().Get(("/v1/jobs/" + job + "/events?last_event_id=25-end").c_str());
  REQUIRE(ended);
  CHECK(ended->status == 204);
}

TEST_CASE("ndjson is one object a line") {
  Live live;
  const std::string job = live.train(3);
  auto result = live.client().Get(("/v1/jobs/" + job + "/events?format=ndjson").c_str());
  REQUIRE(result);
  CHECK(result->get_header_value("Content-Type") == "application/x-ndjson");
  std::vector<TestJson> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = result->body.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(TestJson::parse(result->body.substr(at, end - at)));
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == TestJson{{"id", "0-queued"}, {"event", "state"}, {"state", "queued"}});
  CHECK(lines[2]["event"] == "progress");
  CHECK(lines[2]["iteration"] == 1);
  CHECK(lines[6]["event"] == "end");
  CHECK(lines[6]["result"]["model_id"] == job);
}

TEST_CASE("what is wrong with an event stream's request is told") {
  Live live;
  auto client = live.client();
  CHECK(problem_of(client.Get("/v1/jobs/nope/events"))["status"] == 404);
  const std::string job = live.train(2);
  const std::string path = "/v1/jobs/" + job + "/events";
  CHECK(problem_of(client.Get((path + "?last_event_id=zzz").c_str()))["errors"][0]["field"] ==
        "last_event_id");
  CHECK(problem_of(
            client.Get(path.c_str(), httplib::Headers{{"Last-Event-ID", "1-2"}}))["errors"][0]["field"] ==
        "Last-Event-ID");
  CHECK(problem_of(client.Get((path + "?format=xml").c_str()))["status"] == 400);
  auto head = client.Head(path.c_str());
  REQUIRE(head);
  CHECK(head->status == 200);
  CHECK(head->get_header_value("Content-Type") == "text/event-stream");
}

TEST_CASE("a live stream follows a job through cancelling; health answers meanwhile; hang-ups are noticed") {
  Live live;
  const std::string job = live.start_long_job();
  {
    std::vector<std::unique_ptr<RawClient>> followers;
    for (int i = 0; i < 100; ++i) {
      followers.push_back(std::make_unique<RawClient>(live.port()));
      REQUIRE(followers.back()->send("GET /v1/jobs/" + job + "/events HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    CHECK(eventually([&] { return live.get("/v1/system")["streams"]["open"] == 100; }));
    const auto before = std::chrono::steady_clock::now();
    CHECK(live.get("/healthz")["status"] == "ok");
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
    for (int i = 1; i < 100; ++i) followers[static_cast<std::size_t>(i)]->close();
    CHECK(eventually([&] { return live.get("/v1/system")["streams"]["open"] == 1; }));

    auto cancelled = live.client().Delete(("/v1/jobs/" + job).c_str());
    REQUIRE(cancelled);
    CHECK((cancelled->status == 202 || cancelled->status == 200));
    bool complete = false;
    const auto events = parse_events(dechunk(followers[0]->read_until("\r\n0\r\n\r\n"), &complete));
    CHECK(complete);
    REQUIRE(events.size() > 4);
    CHECK(events.front().id == "0-queued");
    CHECK(events.back().kind == "end");
    CHECK(TestJson::parse(events.back().data)["state"] == "cancelled");
    const int every = live.get("/v1/jobs/" + job)["spec"]["report_every"];
    int last = 0;
    for (std::size_t i = 2; i + 2 < events.size(); ++i) {  // rows at 1 and the multiples
      const int iteration = std::stoi(events[i].id);
      CHECK(iteration == (last == 0 ? 1 : last == 1 ? every : last + every));
      last = iteration;
    }
  }
}

TEST_CASE("clients that never read hold up neither the training nor other streams") {
  Live live;
  std::vector<std::unique_ptr<RawClient>> silent;
  const std::string job =
      live.post_job({{"iterations", 800}, {"learning_rate", 0.001}, {"report_every", 1}})["id"];
  for (int i = 0; i < 5; ++i) {
    silent.push_back(std::make_unique<RawClient>(live.port()));
    silent.back()->send("GET /v1/jobs/" + job + "/events HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  CHECK(live.wait_for_end(job)["state"] == "succeeded");
  CHECK(events_after(live, job, "").size() == 800 + 4);
}

TEST_CASE("streams are bounded, and the refused ones are told when to come back") {
  Live live;
  const std::string job = live.start_long_job();
  std::vector<std::unique_ptr<RawClient>> followers;
  for (int i = 0; i < 256; ++i) {
    followers.push_back(std::make_unique<RawClient>(live.port()));
    REQUIRE(followers.back()->send("GET /v1/jobs/" + job + "/events HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  REQUIRE(eventually([&] { return live.get("/v1/system")["streams"]["open"] == 256; }));
  auto client = live.client();
  auto refused = client.Get(("/v1/jobs/" + job + "/events").c_str());
  CHECK(problem_of(refused)["status"] == 503);
  CHECK(refused->get_header_value("Retry-After") == "5");
  CHECK(live.get("/v1/jobs/" + job)["state"] == "running");
  client.Delete(("/v1/jobs/" + job).c_str());
}

TEST_CASE("draining ends streams cleanly, and stopping is quick") {
  Live live;
  const std::string job = live.start_long_job();
  RawClient follower(live.port()), idle(live.port()), old_proxy(live.port());
  follower.send("GET /v1/jobs/" + job + "/events HTTP/1.1\r\nHost: x\r\n\r\n");
  old_proxy.send("GET /v1/jobs/" + job + "/events HTTP/1.0\r\nHost: x\r\n\r\n");
  idle.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.read_until("ok");
  follower.read_until("id: 1\n");
  old_proxy.read_until("id: 1\n");
  const auto before = std::chrono::steady_clock::now();
  live.stop();
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(4));
  bool complete = false;
  dechunk(follower.read_all(), &complete);
  CHECK(complete);
  const std::string plain = old_proxy.read_all();
  CHECK_FALSE(contains(plain, "Transfer-Encoding"));
  CHECK(contains(plain, "retry: 2000\n\nid: 0-queued\n"));
}

}  // namespace mnistd::api
