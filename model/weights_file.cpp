#include "model/weights_file.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "gpu/ops.h"

namespace mnistd::model {
namespace {

using gpu::kClasses;
using gpu::kFeatures;
using gpu::kPixels;
using gpu::kWeights;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "tensors are little-endian, and copied as they are");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaximumHeader = 1 << 20;
constexpr int kMaximumDepth = 3;  // header, tensor, its lists
constexpr std::size_t kWeightBytes = sizeof(float) * kClasses * kPixels;
constexpr std::size_t kBiasBytes = sizeof(float) * kClasses;

[[noreturn]] void fail(const std::string& what) {
  throw WeightsError("not the weights of a linear model: " + what);
}

json tensor(std::initializer_list<std::size_t> shape, std::size_t begin, std::size_t bytes) {
  return {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, begin + bytes}}};
}

std::string_view header_of(std::string_view bytes) {
  if (bytes.size() < kLengthBytes)
    fail("holds " + std::to_string(bytes.size()) +
         " bytes; expected at least the 8 bytes of a header length");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes)
    fail("the header's length is " + std::to_string(length) + " bytes, but only " +
         std::to_string(bytes.size() - kLengthBytes) + " follow");
  if (length > kMaximumHeader)
    fail("the header's length is " + std::to_string(length) + " bytes; expected at most " +
         std::to_string(kMaximumHeader));
  const std::string_view header = bytes.substr(kLengthBytes, length);
  if (!header.starts_with('{')) fail("the header does not begin with {; expected a safetensors file");
  // nlohmann's parser takes a NUL for the end and would not look at what is behind it.
  if (header.find('\0') != std::string_view::npos) fail("the header holds a NUL byte");
  return header;
}

// The header as JSON in which no key comes twice and no value is nested deeper than the format has it.
json parse_header(std::string_view header) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&keys](int depth, json::parse_event_t event, json& parsed) {
    if (depth >= kMaximumDepth &&
        (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start))
      fail("the header is nested deeper than " + std::to_string(kMaximumDepth) + " levels");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      fail("the header has a key twice");
    return true;
  };
  try {
    return json::parse(header, watch);
  } catch (const json::parse_error& error) {
    fail("the header is no JSON (at byte " + std::to_string(error.byte) + ")");
  } catch (const json::exception&) {
    fail("the header holds a number that JSON readers cannot represent");
  }
}

void check_metadata(const json& metadata) {
  if (!metadata.is_object()) fail("__metadata__ is no object");
  for (const json& value : metadata)
    if (!value.is_string()) fail("__metadata__ holds a value that is no string");
}

std::vector<std::uint64_t> unsigned_list(const std::string& name, const json& entry, const char* field) {
  std::vector<std::uint64_t> values;
  for (const json& value : entry.at(field)) {
    if (!value.is_number_unsigned()) fail(name + ": " + field + " holds something else than whole numbers");
    values.push_back(value.get<std::uint64_t>());
  }
  return values;
}

std::string list_text(const std::vector<std::uint64_t>& values) {
  std::string text = "[";
  for (const std::uint64_t value : values) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  text += ']';
  return text;
}

// Where a tensor's bytes begin, after its entry was checked against what a linear model has.
std::size_t begin_of(const json& header, const std::string& name, const std::vector<std::uint64_t>& shape,
                     std::size_t bytes, std::size_t data_bytes) {
  const auto found = header.find(name);
  if (found == header.end()) fail("no tensor \"" + name + "\"");
  const json& entry = *found;
  if (!entry.is_object()) fail(name + ": its entry is no object");
  for (const auto& item : entry.items())
    if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets")
      fail(name + ": its entry has fields beyond dtype, shape and data_offsets");
  const auto type = entry.find("dtype");
  if (type == entry.end() || !type->is_string()) fail(name + ": no dtype");
  if (*type != "F32") fail(name + ": another dtype; expected F32");
  for (const char* field : {"shape", "data_offsets"})
    if (!entry.contains(field) || !entry.at(field).is_array()) fail(name + ": no list " + field);
  const auto found_shape = unsigned_list(name, entry, "shape");
  if (found_shape != shape)
    fail(name + ": its shape is " + list_text(found_shape) + "; expected " + list_text(shape));
  const auto offsets = unsigned_list(name, entry, "data_offsets");
  if (offsets.size() != 2) fail(name + ": expected two data_offsets");
  if (offsets[0] > offsets[1] || offsets[1] > data_bytes)
    fail(name + ": its data_offsets " + list_text(offsets) + " lie outside of the " +
         std::to_string(data_bytes) + " bytes of data");
  if (offsets[1] - offsets[0] != bytes)
    fail(name + ": its data_offsets " + list_text(offsets) + " span " +
         std::to_string(offsets[1] - offsets[0]) + " bytes; expected " + std::to_string(bytes));
  return offsets[0];
}

}  // namespace

std::string to_safetensors(const std::vector<float>& weights, const WeightsMetadata& metadata) {
  if (weights.size() != kWeights)
    throw std::invalid_argument(std::to_string(weights.size()) + " weights; expected 10x785");
  json header = {{"weight", tensor({kClasses, kPixels}, 0, kWeightBytes)},
                 {"bias", tensor({kClasses}, kWeightBytes, kBiasBytes)}};
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  // So that the tensors lie aligned in a file that is mapped into memory.
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');

  std::string bytes(kLengthBytes, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += text;
  const auto append = [&bytes](const float* values, std::size_t count) {
    bytes.append(reinterpret_cast<const char*>(values), count * sizeof(float));
  };
  for (int digit = 0; digit < kClasses; ++digit) append(weights.data() + digit * kFeatures, kPixels);
  for (int digit = 0; digit < kClasses; ++digit) append(weights.data() + digit * kFeatures + kPixels, 1);
  return bytes;
}

std::vector<float> from_safetensors(std::string_view bytes) {
  const std::string_view header_text = header_of(bytes);
  const std::string_view data = bytes.substr(kLengthBytes + header_text.size());
  const json header = parse_header(header_text);
  for (const auto& item : header.items()) {
    if (item.key() == "__metadata__")
      check_metadata(item.value());
    else if (item.key() != "weight" && item.key() != "bias")
      fail("a tensor beyond \"weight\" and \"bias\"");
  }
  const std::size_t weight = begin_of(header, "weight", {kClasses, kPixels}, kWeightBytes, data.size());
  const std::size_t bias = begin_of(header, "bias", {kClasses}, kBiasBytes, data.size());
  // Two spans of known length within the data cover it without a hole exactly so.
  const bool weight_first = weight == 0 && bias == kWeightBytes;
  const bool bias_first = bias == 0 && weight == kBiasBytes;
  if (!weight_first && !bias_first) fail("weight and bias overlap or leave a hole between them");
  if (data.size() != kWeightBytes + kBiasBytes)
    fail(std::to_string(data.size() - kWeightBytes - kBiasBytes) + " bytes follow the tensors");

  std::vector<float> weights(kWeights);
  for (int digit = 0; digit < kClasses; ++digit) {
    float* const row = weights.data() + digit * kFeatures;
    std::memcpy(row, data.data() + weight + sizeof(float) * kPixels * digit, sizeof(float) * kPixels);
    std::memcpy(row + kPixels, data.data() + bias + sizeof(float) * digit, sizeof(float));
  }
  for (int i = 0; i < kWeights; ++i)
    if (!std::isfinite(weights[i]))
      fail("the weight of digit " + std::to_string(i / kFeatures) + ", feature " +
           std::to_string(i % kFeatures) + " is not finite");
  return weights;
}

}  // namespace mnistd::model
