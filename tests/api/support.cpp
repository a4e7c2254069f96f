#include "tests/api/support.h"

#include <fstream>
#include <random>
#include <stdexcept>

#include <doctest/doctest.h>
#include <stdlib.h>

namespace mnistd::api {
namespace {

void write_idx(const std::filesystem::path& file, const std::vector<std::uint32_t>& dimensions,
               const std::vector<std::uint8_t>& values) {
  std::ofstream out(file, std::ios::binary);
  const auto put = [&](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(value >> shift & 0xFF));
  };
  put(0x0800 + static_cast<std::uint32_t>(dimensions.size()));
  for (const std::uint32_t dimension : dimensions) put(dimension);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size()));
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "mnistd-api-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void write_dataset(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  std::mt19937 random(7);
  for (const auto& [stem, count] : {std::pair{"train", kTrainCount}, std::pair{"t10k", kTestCount}}) {
    std::vector<std::uint8_t> pixels, labels;
    for (int i = 0; i < count; ++i) {
      const int digit = i % 10;
      labels.push_back(static_cast<std::uint8_t>(digit));
      for (int pixel = 0; pixel < 784; ++pixel) {
        const bool bright = pixel / 28 / 2 == digit + 2;
        pixels.push_back(static_cast<std::uint8_t>((bright ? 200 : 0) + random() % 50));
      }
    }
    const auto images = static_cast<std::uint32_t>(count);
    write_idx(directory / (std::string(stem) + "-images-idx3-ubyte"), {images, 28, 28}, pixels);
    write_idx(directory / (std::string(stem) + "-labels-idx1-ubyte"), {images}, labels);
  }
}

Live::Live(const LiveOptions& options) {
  write_dataset(directory_.path() / "digits");
  server::DaemonOptions daemon;
  daemon.data_dir = directory_.path() / "data";
  daemon.datasets = {{"mnist", directory_.path() / "digits"}};
  daemon.device.backend = gpu::Backend::cpu;
  daemon.device.threads = 1;
  daemon.queue_limit = options.queue_limit;
  daemon.first_training = false;
  daemon.eager_spectra = false;
  daemon_ = std::make_unique<server::Daemon>(daemon);
  HttpOptions http;
  http.port = 0;
  http.version = "1.2.3";
  http.api_key = options.api_key;
  http.allowed_origins = options.allowed_origins;
  http_ = std::make_unique<HttpServer>(*daemon_, http);
  port_ = http_->bind();
  thread_ = std::thread([this] { http_->run(); });
}

Live::~Live() { stop(); }

void Live::stop() {
  if (!thread_.joinable()) return;
  daemon_->drain();
  http_->stop();
  thread_.join();
}

httplib::Client Live::client() const {
  httplib::Client client("127.0.0.1", port_);
  client.set_read_timeout(30, 0);
  return client;
}

TestJson Live::get(const std::string& path, int status) {
  auto result = client().Get(path.c_str());
  REQUIRE_MESSAGE(result, path);
  REQUIRE_MESSAGE(result->status == status, path << " gave " << result->body);
  return TestJson::parse(result->body);
}

TestJson Live::post_job(const TestJson& fields) {
  auto result = client().Post("/v1/jobs", fields.dump(), "application/json");
  REQUIRE(result);
  REQUIRE_MESSAGE(result->status == 202, result->body);
  return TestJson::parse(result->body);
}

TestJson Live::wait_for_end(const std::string& job_id) {
  TestJson job;
  REQUIRE(eventually([&] {
    job = get("/v1/jobs/" + job_id);
    return job["state"] != "queued" && job["state"] != "running";
  }));
  return job;
}

std::string Live::train(int iterations) {
  const std::string id = post_job({{"iterations", iterations}})["id"];
  REQUIRE(wait_for_end(id)["state"] == "succeeded");
  return id;
}

std::string Live::start_long_job() {
  const std::string id = post_job({{"iterations", 1'000'000}, {"learning_rate", 0.001}})["id"];
  REQUIRE(eventually([&] { return get("/v1/jobs/" + id)["state"] == "running"; }));
  return id;
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TestJson problem_of(const httplib::Result& result) {
  REQUIRE(result);
  CHECK(result->get_header_value("Content-Type") == "application/problem+json");
  const TestJson problem = TestJson::parse(result->body);
  CHECK(problem["status"] == result->status);
  CHECK(std::string(problem["type"]).rfind("/problems/", 0) == 0);
  CHECK(!std::string(problem["title"]).empty());
  CHECK(!std::string(problem["detail"]).empty());
  return problem;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace mnistd::api
