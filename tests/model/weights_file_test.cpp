#include "model/weights_file.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include <doctest/doctest.h>

#include "tests/model/contains.h"

using namespace mnistd;
using test::Contains;

namespace {

std::vector<float> random_weights() {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> weights(7850);
  for (float& weight : weights) weight = uniform(random);
  return weights;
}

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(std::uint64_t{header.size()} >> shift & 255);
  return bytes + header + data;
}

// 31400 bytes of tensors, all ones.
std::string ones() {
  std::string data;
  for (int i = 0; i < 7850; ++i) data += std::string("\x00\x00\x80\x3f", 4);
  return data;
}

std::string entry(const std::string& shape, const std::string& offsets, const std::string& type = "\"F32\"") {
  return R"({"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

const std::string kWeight = entry("[10,784]", "[0,31360]");
const std::string kBias = entry("[10]", "[31360,31400]");

std::string header_of(const std::string& weight, const std::string& bias, const std::string& more = "") {
  return R"({"weight":)" + weight + R"(,"bias":)" + bias + more + "}";
}

std::string error_of(const std::string& bytes) {
  try {
    model::from_safetensors(bytes);
  } catch (const model::WeightsError& error) {
    return error.what();
  }
  return "none";
}

std::string error_of_header(const std::string& header) { return error_of(file_of(header, ones())); }

float float_at(const std::string& bytes, std::size_t offset) {
  std::uint32_t bits = 0;
  for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<std::uint8_t>(bytes.at(offset + i));
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("what is written is safetensors, read here by the format's own words") {
  const auto weights = random_weights();
  const std::string bytes = model::to_safetensors(weights, {{"job", "abc"}, {"invalid", "\xff"}});
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<std::uint8_t>(bytes.at(i));
  CHECK(length % 8 == 0);
  REQUIRE(bytes.size() == 8 + length + 31400);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  CHECK(header.size() == 3);
  CHECK(header["__metadata__"]["job"] == "abc");
  CHECK(header["weight"]["dtype"] == "F32");
  CHECK(header["weight"]["shape"] == nlohmann::json({10, 784}));
  CHECK(header["bias"]["shape"] == nlohmann::json::array({10}));
  const std::size_t weight = 8 + length + header["weight"]["data_offsets"][0].get<std::size_t>();
  const std::size_t bias = 8 + length + header["bias"]["data_offsets"][0].get<std::size_t>();
  bool same = true;
  for (int digit = 0; digit < 10; ++digit) {
    for (int pixel = 0; pixel < 784; ++pixel)
      same = same && float_at(bytes, weight + 4 * (digit * 784 + pixel)) == weights[digit * 785 + pixel];
    same = same && float_at(bytes, bias + 4 * digit) == weights[digit * 785 + 784];
  }
  CHECK(same);
}

TEST_CASE("a round trip gives the same bits") {
  auto weights = random_weights();
  weights[0] = -0.0F;
  weights[1] = std::numeric_limits<float>::denorm_min();
  weights[784] = std::numeric_limits<float>::max();
  const auto read = model::from_safetensors(model::to_safetensors(weights, {}));
  REQUIRE(read.size() == weights.size());
  CHECK(std::memcmp(read.data(), weights.data(), 4 * weights.size()) == 0);
  CHECK_THROWS_AS(model::to_safetensors(std::vector<float>(10), {}), std::invalid_argument);
}

TEST_CASE("files that other programs write are read") {
  // The bias first, as safetensors' own writer sorts; padding; metadata.
  std::string data(40, '\0');
  data += ones().substr(0, 31360);
  const auto weights =
      model::from_safetensors(file_of(header_of(entry("[10,784]", "[40,31400]"), entry("[10]", "[0,40]"),
                                                R"(,"__metadata__":{"format":"pt"})") +
                                          "     ",
                                      data));
  CHECK(weights[783] == 1);
  CHECK(weights[784] == 0);
  CHECK(weights[785] == 1);
}

TEST_CASE("a malformed length") {
  CHECK(error_of("") == Contains("holds 0 bytes; expected at least the 8 bytes"));
  CHECK(error_of("1234567") == Contains("holds 7 bytes"));
  CHECK(error_of(std::string(8, '\xff') + "{}") ==
        Contains("the header's length is 18446744073709551615 bytes, but only 2 follow"));
  CHECK(error_of(file_of(header_of(kWeight, kBias), "").substr(0, 50)) == Contains("but only 42 follow"));
  CHECK(error_of(file_of("{" + std::string(2 << 20, ' ') + "}", "")) == Contains("expected at most 1048576"));
}

TEST_CASE("a malformed header") {
  CHECK(error_of_header("") == Contains("does not begin with {"));
  CHECK(error_of_header(" {}") == Contains("does not begin with {"));
  CHECK(error_of_header("{") == Contains("is no JSON (at byte 2)"));
  CHECK(error_of_header("{} x") == Contains("is no JSON"));
  CHECK(error_of_header(std::string("{}\0", 3)) == Contains("holds a NUL byte"));
  CHECK(error_of_header("{\"\xff\":1}") == Contains("is no JSON"));
  CHECK(error_of_header("{\"x\":1e400}") == Contains("a number that JSON readers cannot represent"));
  CHECK(error_of_header(header_of(kWeight, kBias, ",\"weight\":" + kWeight)) == Contains("has a key twice"));
  CHECK(error_of_header(header_of(R"({"dtype":"F32","dtype":"F32"})", kBias)) == Contains("has a key twice"));
  CHECK(error_of_header("{\"x\":" + std::string(100000, '[')) == Contains("nested deeper than 3 levels"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"x\":";
  CHECK(error_of_header(objects) == Contains("nested deeper than 3 levels"));
}

TEST_CASE("a header of something else") {
  CHECK(error_of_header("{}") == Contains("no tensor \"weight\""));
  CHECK(error_of_header("{\"weight\":" + kWeight + "}") == Contains("no tensor \"bias\""));
  CHECK(error_of_header(header_of(kWeight, kBias, ",\"x\":" + kBias)) == Contains("a tensor beyond"));
  CHECK(error_of_header(header_of("1", kBias)) == Contains("weight: its entry is no object"));
  CHECK(error_of_header(header_of("{}", kBias)) == Contains("weight: no dtype"));
  CHECK(error_of_header(header_of(kWeight, kBias, R"(,"__metadata__":[])")) ==
        Contains("__metadata__ is no object"));
  CHECK(error_of_header(header_of(kWeight, kBias, R"(,"__metadata__":{"a":1})")) == Contains("no string"));
  CHECK(error_of_header(header_of(entry("[10,784]", "[0,31360]", "\"F16\""), kBias)) ==
        Contains("expected F32"));
  CHECK(error_of_header(header_of(entry("[10,784]", "[0,31360]", "7"), kBias)) == Contains("no dtype"));
  CHECK(error_of_header(header_of(R"({"dtype":"F32","shape":[10,784],"data_offsets":[0,31360],"x":1})",
                                  kBias)) == Contains("fields beyond"));
}

TEST_CASE("shapes") {
  const auto error = [](const std::string& shape) {
    return error_of_header(header_of(entry(shape, "[0,31360]"), kBias));
  };
  CHECK(error("[784,10]") == Contains("weight: its shape is [784, 10]; expected [10, 784]"));
  CHECK(error("[7840]") == Contains("expected [10, 784]"));
  CHECK(error("[]") == Contains("weight: its shape is []"));
  CHECK(error("7") == Contains("weight: no list shape"));
  CHECK(error("[10.0,784]") == Contains("something else than whole numbers"));
  CHECK(error("[-10,784]") == Contains("something else than whole numbers"));
  CHECK(error("[true,784]") == Contains("something else than whole numbers"));
  CHECK(error("[18446744073709551616,784]") == Contains("something else than whole numbers"));
  CHECK(error_of_header(header_of(kWeight, entry("[1,10]", "[31360,31400]"))) ==
        Contains("bias: its shape is [1, 10]"));
}

TEST_CASE("offsets") {
  const auto error = [](const std::string& weight, const std::string& bias) {
    return error_of_header(header_of(entry("[10,784]", weight), entry("[10]", bias)));
  };
  CHECK(error("[0,31360]", "[31360,31404]") == Contains("lie outside of the 31400 bytes"));
  CHECK(error("[31360,0]", "[31360,31400]") == Contains("lie outside"));
  CHECK(error("[0,18446744073709551615]", "[31360,31400]") == Contains("lie outside"));
  CHECK(error("[0,31356]", "[31360,31400]") == Contains("span 31356 bytes; expected 31360"));
  CHECK(error("[0]", "[31360,31400]") == Contains("expected two data_offsets"));
  CHECK(error("[0,31360.0]", "[31360,31400]") == Contains("something else than whole numbers"));
  CHECK(error("[0,31360]", "[31320,31360]") == Contains("overlap or leave a hole"));
  CHECK(error("[0,31360]", "[0,40]") == Contains("overlap or leave a hole"));
  CHECK(error("{}", "[31360,31400]") == Contains("no list data_offsets"));
  const std::string header = header_of(kWeight, entry("[10]", "[31364,31404]"));
  CHECK(error_of(file_of(header, ones() + "1234")) == Contains("overlap or leave a hole"));
  CHECK(error_of(file_of(header_of(kWeight, kBias), ones() + "1234")) ==
        Contains("4 bytes follow the tensors"));
  CHECK(error_of(file_of(header_of(kWeight, kBias), ones().substr(4))) ==
        Contains("lie outside of the 31396 bytes"));
}

TEST_CASE("values that are not finite") {
  std::string data = ones();
  data.replace(4 * (784 + 3), 4, std::string("\x00\x00\x80\x7f", 4));
  CHECK(error_of(file_of(header_of(kWeight, kBias), data)) ==
        Contains("the weight of digit 1, feature 3 is not finite"));
  data = ones();
  data.replace(31360 + 4 * 9, 4, std::string("\x01\x00\xc0\xff", 4));
  CHECK(error_of(file_of(header_of(kWeight, kBias), data)) ==
        Contains("the weight of digit 9, feature 784 is not finite"));
}
