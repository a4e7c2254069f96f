#include <limits>

#include <doctest/doctest.h>

#include "api/json_codec.h"
#include "api/problem.h"
#include "api/reply.h"
#include "tests/api/support.h"

namespace mnistd::api {

TEST_CASE("a job has the contract's keys in the contract's order") {
  server::Job job;
  job.id = "01abc";
  job.created_at = server::Time(std::chrono::milliseconds(1'796'026'500'007));
  job.device = "cpu";
  job.spec.train.iterations = 300;
  CHECK(
      to_json(job).dump() ==
      R"({"id":"01abc","state":"queued","name":null,"spec":{"iterations":300,"learning_rate":0.01,"solver":"gemm",)"
      R"("dataset":"mnist","model":"linear","seed":1234567,"report_every":1},"progress":{"iteration":0,"loss":null,)"
      R"("train_accuracy":null,"test_accuracy":null,"ms_per_iteration":null,"eta_s":null},"result":null,"warnings":[],)"
      R"("error":null,"created_at":"2026-11-30T08:15:00.007Z","started_at":null,"finished_at":null,"device":"cpu"})");
  job.result = server::JobResult{"01abc", 0.25, 0.5, 0.75, 5, 6, 12.5, 1.25};
  job.error = server::JobFailure{"diverged", "at iteration 7"};
  CHECK(
      to_json(job)["result"].dump() ==
      R"({"model_id":"01abc","loss":0.25,"train_accuracy":0.5,"test_accuracy":0.75,"train_correct":5,"test_correct":6,)"
      R"("train_ms":12.5,"ms_per_iteration":1.25})");
  CHECK(to_json(job)["error"].dump() == R"({"code":"diverged","message":"at iteration 7"})");
}

TEST_CASE("numbers come back as given, and what is not finite is null") {
  CHECK(to_json(0.1f).dump() == "0.1");
  CHECK(to_json(-1.5e-7f).dump() == "-1.5e-07");
  CHECK(to_json(16777216.0f).dump() == "16777216.0");
  CHECK(to_json(std::numeric_limits<float>::infinity()).is_null());
  const model::MetricsRow row{3, std::numeric_limits<double>::quiet_NaN(), 0.1, 1, 12.5};
  CHECK(metrics_row(row).dump() == "[3,null,0.1,1.0,12.5]");
  CHECK(metrics_object(row).dump() ==
        R"({"iteration":3,"loss":null,"train_accuracy":0.1,"test_accuracy":1.0,"elapsed_ms":12.5})");
  CHECK(metrics_csv_header() == "iteration,loss,train_accuracy,test_accuracy,elapsed_ms\n");
  CHECK(metrics_csv_line(row) == "3,,0.1,1.0,12.5\n");
}

TEST_CASE("every float comes back from its shortest form") {
  for (std::uint32_t bits = 1; bits < 0x7F800000; bits += 9'999'991) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    CHECK(static_cast<float>(to_json(value).get<double>()) == value);
  }
}

TEST_CASE("times are RFC 3339 in UTC with milliseconds") {
  CHECK(format_time(server::Time(std::chrono::milliseconds(0))) == "1970-01-01T00:00:00.000Z");
  CHECK(format_time(server::Time(std::chrono::milliseconds(951'782'399'999))) == "2000-02-28T23:59:59.999Z");
}

TEST_CASE("invalid UTF-8 never throws, also not in a problem") {
  const std::string text = to_json_text({404, "not-found", "There is nothing at /\xFF\xC0."});
  CHECK(contains(text, "\xEF\xBF\xBD"));
  CHECK(TestJson::parse(text)["type"] == "/problems/not-found");
  CHECK(TestJson::parse(text)["title"] == "There is no such thing");
}

TEST_CASE("If-None-Match is a list of tags") {
  httplib::Request request;
  CHECK_FALSE(is_unchanged(request, "W/\"a\""));
  request.headers.emplace("If-None-Match", "\"x\", W/\"a\"");
  CHECK(is_unchanged(request, "W/\"a\""));
  CHECK(is_unchanged(request, "\"x\""));
  CHECK_FALSE(is_unchanged(request, "\"y\""));
  CHECK(weak_etag("a") != weak_etag("b"));
}

}  // namespace mnistd::api
