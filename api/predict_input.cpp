#include "api/predict_input.h"

#include "api/base64url.h"
#include "api/context.h"
#include "api/json_fields.h"

namespace mnistd::api {
namespace {

constexpr std::size_t kImageBytes = model::kPixels;
constexpr const char* kTaken =
    "Pictures (PNG, JPEG, multipart/form-data) are not available yet. Raw pixels are: 784 bytes a digit as "
    "application/octet-stream, or {\"pixels\": [784 numbers 0-255]} as application/json.";

std::vector<std::uint8_t> to_bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<std::uint8_t> parse_raw(const std::string& body) {
  if (body.empty() || body.size() % kImageBytes != 0)
    refuse_fields(
        {{"",
          "raw pixels are 784 bytes an image (28 rows of 28, 0 paper, 255 ink), or n·784 for a batch; "
          "found " +
              std::to_string(body.size()) + " bytes"}});
  return to_bytes(body);
}

std::vector<std::uint8_t> parse_pixels_object(const std::string& body) {
  if (body.size() > kJsonBytes)
    refuse(413, "too-large",
           "The JSON is larger than " + std::to_string(kJsonBytes) +
               " bytes; send a batch as application/octet-stream.");
  Json object;
  try {
    object = parse_json(body);
  } catch (const JsonError& error) {
    refuse(400, "invalid-json", error.what());
  }
  JsonFields fields(object);
  std::vector<std::uint8_t> pixels;
  const Json* given = fields.find("pixels");
  if (given == nullptr) {
    if (object.is_object()) fields.add_error("pixels", "is missing: 784 whole numbers from 0 to 255");
  } else if (!given->is_array() || given->size() != kImageBytes) {
    fields.add_error("pixels",
                     "must be an array of 784 numbers, found " +
                         (given->is_array() ? std::to_string(given->size()) + " of them" : excerpt(*given)));
  } else {
    for (std::size_t i = 0; i < kImageBytes; ++i) {
      const auto value = exact_integer((*given)[i], 0, 255);
      if (value) {
        pixels.push_back(static_cast<std::uint8_t>(*value));
      } else {
        fields.add_error("pixels[" + std::to_string(i) + "]",
                         "must be a whole number from 0 to 255, found " + excerpt((*given)[i]));
        break;
      }
    }
  }
  fields.finish();
  return pixels;
}

bool begins_with_brace(const std::string& body) {
  const std::size_t start = body.find_first_not_of(" \t\r\n");
  return start != std::string::npos && body[start] == '{';
}

std::vector<std::uint8_t> read_body_pixels(Exchange& exchange) {
  const std::string type = exchange.content_type();
  // curl calls what it sends a form unless told otherwise, and forms make no sense here: the bytes tell.
  const bool unnamed = type.empty() || type == "application/x-www-form-urlencoded";
  const bool json = type == "application/json" || type.ends_with("+json");
  if (!unnamed && !json && type != "application/octet-stream")
    refuse(415, "unsupported-type", "The body is " + type + ". " + kTaken);
  const std::string body = exchange.read_body(kBodyBytes, "a batch of images");
  if (json || (unnamed && begins_with_brace(body))) return parse_pixels_object(body);
  return parse_raw(body);
}

PredictInput read_dataset_image(Exchange& exchange) {
  Query& query = exchange.query;
  const std::string name = query.text("dataset").value_or("mnist");
  const server::Datasets& datasets = exchange.context.daemon.datasets();
  const auto found = datasets.find(name);
  if (found == datasets.end()) {
    std::string names;
    for (const auto& dataset : datasets) names += (names.empty() ? "" : ", ") + dataset.first;
    query.add_error("dataset", "is not known: " + excerpt(Json(name)) + "; available: " + names);
  }
  const auto split_name = query.choice("split", {"train", "test"});
  if (!query.text("index"))
    query.add_error("index", "is missing: the number of an image of the split, from 0");
  const auto index = query.integer("index", 0, INT32_MAX);
  query.finish();
  PredictInput input;
  input.origin = split_name.value_or("test");
  const model::Split& split = found->second->split(*model::parse_split(input.origin));
  if (*index >= split.count())
    refuse_fields({{"index", "must be at most " + std::to_string(split.count() - 1) + ", found " +
                                 std::to_string(*index)}});
  const model::Image image = split.image(static_cast<int>(*index));
  input.pixels.assign(image.begin(), image.end());
  input.truth = split.labels[static_cast<std::size_t>(*index)];
  input.index = static_cast<int>(*index);
  input.split_count = split.count();
  return input;
}

PredictInput read_query_pixels(Exchange& exchange, const std::string& text) {
  exchange.query.finish();
  const auto bytes = decode_base64url(text);
  if (!bytes)
    refuse_fields(
        {{"pixels", "must be base64url: A-Z a-z 0-9 - _ (in place of + /), with or without = at the end"}});
  if (bytes->size() != kImageBytes)
    refuse_fields({{"pixels", "must be 784 bytes in base64url, found " + std::to_string(bytes->size())}});
  PredictInput input;
  input.pixels = to_bytes(*bytes);
  return input;
}

}  // namespace

PredictInput read_predict_input(Exchange& exchange) {
  Query& query = exchange.query;
  const auto pixels = query.text("pixels");
  const bool from_dataset = query.text("dataset") || query.text("split") || query.text("index");
  if (query.text("digit")) query.add_error("digit", std::string("uploads are kept later. ") + kTaken);
  const bool from_body = exchange.body_state() != BodyState::none;
  if (int{pixels.has_value()} + int{from_dataset} + int{from_body} > 1)
    query.add_error("", "give one of: a body, ?pixels=, ?dataset=&split=&index=");
  if (from_body) {
    query.finish();
    PredictInput input;
    input.pixels = read_body_pixels(exchange);
    return input;
  }
  if (pixels) return read_query_pixels(exchange, *pixels);
  if (from_dataset) return read_dataset_image(exchange);
  query.finish();
  refuse_fields({{"",
                  "nothing to predict: POST 784 bytes, or give ?dataset=mnist&split=test&index=0, or "
                  "?pixels= (784 bytes, base64url)"}});
}

}  // namespace mnistd::api
