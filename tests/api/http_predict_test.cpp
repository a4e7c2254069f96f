#include <cstring>

#include <doctest/doctest.h>

#include "api/base64url.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

std::string pixels_of(Live& live, int first, int count = 1) {
  const auto& pixels = live.daemon().dataset("mnist")->test.pixels;
  return {pixels.begin() + first * 784, pixels.begin() + (first + count) * 784};
}

std::string json_of(const std::string& pixels) {
  TestJson numbers = TestJson::array();
  for (const char pixel : pixels) numbers.push_back(static_cast<unsigned char>(pixel));
  return TestJson{{"pixels", numbers}}.dump();
}

}  // namespace

TEST_CASE("without a model predict says how to get one") {
  Live live;
  const TestJson problem = live.get("/predict?index=0", 409);
  CHECK(problem["type"] == "/problems/no-model");
  CHECK(contains(problem["detail"], "curl -d iterations=300"));
}

TEST_CASE("one digit by every way in has one answer") {
  Live live;
  auto client = live.client();
  const std::string id = live.train(60);
  const std::string pixels = pixels_of(live, 42);
  const TestJson from_dataset = live.get("/predict?dataset=mnist&split=test&index=42");
  const auto direct =
      live.daemon().models().active()->linear.predict(live.daemon().dataset("mnist")->test.image(42));
  CHECK(from_dataset["label"] == direct.label);
  CHECK(from_dataset["truth"] == 2);
  CHECK(from_dataset["model_id"] == id);
  CHECK(from_dataset["ascii"].is_null());
  CHECK(from_dataset["preprocessing"] ==
        TestJson{{"inverted", false}, {"box", nullptr}, {"warnings", TestJson::array()}});
  REQUIRE(from_dataset["scores"].size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(from_dataset["scores"][i].get<float>() == direct.scores[i]);
  CHECK(from_dataset["margin"].get<float>() == direct.margin);

  TestJson expected = from_dataset;
  expected["truth"] = nullptr;
  const auto post = [&](const std::string& body, const char* type) {
    auto result = client.Post("/v1/predict?invert=auto", body, type);
    REQUIRE(result);
    REQUIRE_MESSAGE(result->status == 200, result->body);
    return TestJson::parse(result->body);
  };
  const char* form = "application/x-www-form-urlencoded";
  CHECK(post(pixels, "application/octet-stream") == expected);
  CHECK(post(pixels, form) == expected);
  CHECK(post(json_of(pixels), "application/json") == expected);
  CHECK(post(json_of(pixels), form) == expected);
  const std::string base64 = encode_base64url(pixels);
  CHECK(live.get("/v1/predict?pixels=" + base64) == expected);
  CHECK(live.get("/predict?model=" + id + "&pixels=" + base64 + "==") == expected);
  CHECK(contains(live.get("/predict?index=42&ascii=1")["ascii"],
                 "PREDICTION: " + std::to_string(direct.label)));

  auto text = client.Get("/predict?index=42", httplib::Headers{{"Accept", "text/plain"}});
  REQUIRE(text);
  CHECK(contains(text->body, "TRUTH: 2"));
  CHECK(contains(text->body, "* * * * *"));
  CHECK(contains(text->body, "LABEL: " + std::to_string(direct.label) + "\n"));
  CHECK(contains(text->body, "\n9  "));
}

TEST_CASE("a batch gives labels, on demand scores, or floats") {
  Live live;
  auto client = live.client();
  live.train(60);
  const std::string pixels = pixels_of(live, 0, 20);
  const auto model = live.daemon().models().active();
  const auto& split = live.daemon().dataset("mnist")->test;
  auto labels = client.Post("/predict", pixels, "application/octet-stream");
  auto with_scores = client.Post("/predict?scores=1", pixels, "application/octet-stream");
  auto floats = client.Post("/predict", httplib::Headers{{"Accept", "application/octet-stream"}}, pixels,
                            "application/octet-stream");
  REQUIRE(labels);
  REQUIRE(with_scores);
  REQUIRE(floats);
  const TestJson plain = TestJson::parse(labels->body), scored = TestJson::parse(with_scores->body);
  CHECK_FALSE(plain.contains("scores"));
  CHECK(plain["labels"].size() == 20);
  REQUIRE(floats->body.size() == 20 * 10 * 4);
  for (int i = 0; i < 20; ++i) {
    const auto expected = model->linear.predict(split.image(i));
    CHECK(plain["labels"][i] == expected.label);
    for (int digit = 0; digit < 10; ++digit) {
      float value;
      std::memcpy(&value, floats->body.data() + (i * 10 + digit) * 4, 4);
      CHECK(value == doctest::Approx(expected.scores[static_cast<std::size_t>(digit)]).epsilon(1e-5));
      CHECK(scored["scores"][i][digit].get<float>() == value);
    }
  }
  CHECK(problem_of(client.Post("/predict?ascii=1", pixels, "application/octet-stream"))["status"] == 400);
}

TEST_CASE("what can't be predicted says why") {
  Live live;
  auto client = live.client();
  live.train(1);
  const auto post = [&](const std::string& body, const char* type) {
    return problem_of(client.Post("/predict", body, type));
  };
  const char* raw = "application/octet-stream";
  CHECK(contains(post(std::string(783, 'x'), raw)["detail"], "found 783 bytes"));
  CHECK(post(std::string(785, 'x'), raw)["status"] == 400);
  CHECK(post("{}", "application/json")["errors"][0]["field"] == "pixels");
  CHECK(post(R"({"pixels":[1,2]})", "application/json")["errors"][0]["message"] ==
        "must be an array of 784 numbers, found 2 of them");
  CHECK(post(R"({"pixels":"x"})", "application/json")["status"] == 400);
  for (const char* pixel : {"256", "-1", "0.5", "true", "\"1\"", "null", "1e3"}) {
    std::string numbers = pixel;
    for (int i = 1; i < 784; ++i) numbers += ",0";
    CHECK(post("{\"pixels\":[" + numbers + "]}", "application/json")["errors"][0]["field"] == "pixels[0]");
  }
  CHECK(post("{\"pixels\":[", "application/json")["type"] == "/problems/invalid-json");
  CHECK(post("\x89PNG", "image/png")["status"] == 415);
  CHECK(contains(post("\x89PNG", "image/png")["detail"], "Raw pixels are"));
  httplib::MultipartFormDataItems items = {{"image", "xyz", "7.png", "image/png"}};
  CHECK(problem_of(client.Post("/predict", items))["status"] == 415);
  CHECK(problem_of(client.Post("/v1/digits", items))["type"] == "/problems/not-available-yet");
  auto next = client.Get("/healthz");
  REQUIRE(next);
  CHECK(next->status == 200);
  for (const char* query : {"", "?index=60", "?index=-1", "?index=x", "?split=test", "?index=0&split=dev",
                            "?index=0&dataset=nope", "?digit=abc", "?pixels=", "?pixels=AAAA", "?pixels=****",
                            "?index=0&invert=maybe", "?index=0&ascii=2", "?index=0&pixels=AAAA", "?idx=0"})
    CHECK_MESSAGE(live.get(std::string("/predict") + query, 400)["status"] == 400, query);
  live.get("/predict?index=0&model=nope", 404);
}

}  // namespace mnistd::api
