#include <doctest/doctest.h>
#include <png.h>

#include "model/weights_file.h"
#include "tests/api/support.h"

namespace mnistd::api {
namespace {

struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

Picture decode(const std::string& bytes, png_uint_32 format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0);
  image.format = format;
  Picture picture{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) != 0);
  return picture;
}

}  // namespace

TEST_CASE("models: list, one, activate, delete") {
  Live live;
  auto client = live.client();
  CHECK(live.get("/v1/models")["items"].empty());
  const std::string first = live.train(30), second = live.train(40);
  const TestJson list = live.get("/v1/models");
  REQUIRE(list["items"].size() == 2);
  CHECK(list["items"][0]["id"] == second);
  CHECK(list["items"][0]["active"] == true);
  CHECK(list["items"][1]["active"] == false);
  CHECK_FALSE(list["items"][0].contains("confusion_matrix"));
  const TestJson page = live.get("/v1/models?limit=1");
  CHECK(live.get("/v1/models?limit=1&cursor=" + std::string(page["next_cursor"]))["items"][0]["id"] == first);

  const TestJson model = live.get("/v1/models/" + second), result = live.get("/v1/jobs/" + second)["result"];
  CHECK(model["spec"]["iterations"] == 40);
  CHECK(model["loss"] == result["loss"]);
  CHECK(model["test_correct"] == result["test_correct"]);
  int total = 0, diagonal = 0;
  for (std::size_t truth = 0; truth < 10; ++truth) {
    int of_class = 0;
    for (std::size_t predicted = 0; predicted < 10; ++predicted)
      of_class += model["confusion_matrix"][truth][predicted].get<int>();
    const int right = model["confusion_matrix"][truth][truth];
    CHECK(model["accuracy_by_class"][truth].get<double>() == doctest::Approx(double(right) / of_class));
    total += of_class;
    diagonal += right;
  }
  CHECK(total == kTestCount);
  CHECK(diagonal == model["test_correct"]);

  auto activated = client.Post(("/v1/models/" + first + "/activate").c_str());
  REQUIRE(activated);
  CHECK(activated->status == 200);
  CHECK(TestJson::parse(activated->body)["activated_by_hand"] == true);
  CHECK(live.get("/predict?index=0")["model_id"] == first);
  auto erased = client.Delete(("/v1/models/" + first).c_str());
  REQUIRE(erased);
  CHECK(erased->status == 204);
  CHECK(live.get("/predict?index=0")["model_id"] == second);
  live.get("/v1/models/" + first, 404);
  CHECK(problem_of(client.Delete(("/v1/models/" + first).c_str()))["status"] == 404);
  CHECK(problem_of(client.Post("/v1/models/nope/activate"))["status"] == 404);
}

TEST_CASE("weights as safetensors and as pictures") {
  Live live;
  auto client = live.client();
  const std::string id = live.train(30);
  auto file = client.Get(("/v1/models/" + id + "/weights").c_str());
  REQUIRE(file);
  CHECK(file->status == 200);
  CHECK(file->get_header_value("Content-Disposition") ==
        "attachment; filename=\"mnistd-" + id + ".safetensors\"");
  const std::vector<float> weights = model::from_safetensors(file->body);
  CHECK(weights == live.daemon().models().active()->linear.weights());
  auto same = client.Get(("/v1/models/" + id + "/weights").c_str(),
                         httplib::Headers{{"If-None-Match", file->get_header_value("ETag")}});
  REQUIRE(same);
  CHECK(same->status == 304);

  auto png = client.Get(("/v1/models/" + id + "/weights/3.png?scale=1").c_str());
  REQUIRE(png);
  CHECK(png->get_header_value("Content-Type") == "image/png");
  const Picture picture = decode(png->body, PNG_FORMAT_RGB);
  CHECK(picture.width == 28);
  CHECK(picture.height == 28);
  for (std::size_t pixel = 0; pixel < 784;
       ++pixel) {  // red where ink speaks for the digit, blue where against
    const float weight = weights[3 * 785 + pixel];
    CHECK(picture.pixels[pixel * 3 + (weight >= 0 ? 0 : 2)] == 255);
  }
  live.get("/v1/models/" + id + "/weights/10.png", 404);
  live.get("/v1/models/" + id + "/weights/3.jpg", 404);
  live.get("/v1/models/" + id + "/weights/3.png?scale=33", 400);
  live.get("/v1/models/nope/weights", 404);
  live.get("/v1/models/nope/weights/3.png", 404);
}

TEST_CASE("datasets and digits as JSON, text and PNG") {
  Live live;
  auto client = live.client();
  const TestJson expected = {{"name", "mnist"},
                             {"rows", 28},
                             {"columns", 28},
                             {"classes", 10},
                             {"splits", {{"train", kTrainCount}, {"test", kTestCount}}},
                             {"stability_limit", nullptr}};
  CHECK(live.get("/v1/datasets/mnist") == expected);
  CHECK(live.get("/v1/datasets")["items"] == TestJson::array({expected}));
  live.get("/v1/datasets/nope", 404);
  live.get("/v1/datasets/mnist/validation", 404);

  const auto& split = live.daemon().dataset("mnist")->test;
  TestJson digit = live.get("/v1/datasets/mnist/test/13");
  CHECK(digit["truth"] == 3);
  CHECK(digit["id"] == 14);
  CHECK(digit["prediction"].is_null());
  for (int pixel = 0; pixel < 784; ++pixel) CHECK(digit["pixels"][pixel] == split.image(13)[pixel]);
  auto text = client.Get("/v1/datasets/mnist/test/13.txt");
  REQUIRE(text);
  CHECK(text->get_header_value("Content-Type") == "text/plain; charset=utf-8");
  CHECK(contains(text->body, "TRUTH: 3"));
  CHECK(contains(text->body, "ID: 14/60"));
  CHECK_FALSE(contains(text->body, "PREDICTION"));
  auto png = client.Get("/v1/datasets/mnist/test/13.png?scale=2");
  REQUIRE(png);
  const Picture picture = decode(png->body, PNG_FORMAT_GRAY);
  CHECK(picture.width == 56);
  for (std::size_t y = 0; y < 56; ++y)
    for (std::size_t x = 0; x < 56; ++x)
      REQUIRE(picture.pixels[y * 56 + x] == split.image(13)[y / 2 * 28 + x / 2]);
  auto negotiated = client.Get("/v1/datasets/mnist/test/13", httplib::Headers{{"Accept", "text/plain"}});
  REQUIRE(negotiated);
  CHECK(negotiated->body == text->body);

  const std::string id = live.train(50);
  digit = live.get("/v1/datasets/mnist/test/13");
  CHECK(digit["prediction"]["model_id"] == id);
  text = client.Get("/v1/datasets/mnist/test/13.txt?color=1");
  REQUIRE(text);
  CHECK(contains(text->body, "PREDICTION: "));
  CHECK(contains(text->body, "\x1b["));
  for (const char* absent : {"/60", "/-1", "/x", "/1.jpg", "/1x", "/99999999999", "/+1"})
    live.get(std::string("/v1/datasets/mnist/test") + absent, 404);
  live.get("/v1/datasets/mnist/test/1.png?scale=0", 400);
  live.get("/v1/datasets/mnist/test/1.txt?scale=2", 400);
}

TEST_CASE("leafing through a split by truth and prediction") {
  Live live;
  CHECK(live.get("/v1/datasets/mnist/test?truth=3")["items"][0] ==
        TestJson{{"index", 3}, {"truth", 3}, {"predicted", nullptr}});
  CHECK(live.get("/v1/datasets/mnist/test?wrong=1", 409)["type"] == "/problems/no-model");
  // A learning rate of 0 leaves the random weights of the start, which are wrong often.
  live.wait_for_end(live.post_job({{"iterations", 1}, {"learning_rate", 0}})["id"]);
  const auto model = live.daemon().models().active();
  const auto& split = live.daemon().dataset("mnist")->test;
  std::vector<int> wrong, listed;
  for (int i = 0; i < split.count(); ++i)
    if (model->linear.predict(split.image(i)).label != split.labels[static_cast<std::size_t>(i)])
      wrong.push_back(i);
  REQUIRE(!wrong.empty());
  std::string cursor;
  do {
    const TestJson page = live.get("/v1/datasets/mnist/test?wrong=1&limit=7" + cursor);
    for (const TestJson& item : page["items"]) {
      listed.push_back(item["index"]);
      CHECK(item["truth"] != item["predicted"]);
    }
    cursor = page["next_cursor"].is_null() ? "" : "&cursor=" + std::string(page["next_cursor"]);
  } while (!cursor.empty());
  CHECK(listed == wrong);
  for (const char* bad : {"?truth=10", "?truth=x", "?predicted=-1", "?wrong=2", "?limit=0", "?rong=1"})
    live.get(std::string("/v1/datasets/mnist/test") + bad, 400);
}

}  // namespace mnistd::api
