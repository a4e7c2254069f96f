#include <bit>
#include <cstdint>

#include "api/accept.h"
#include "api/context.h"
#include "api/json_codec.h"
#include "api/predict_input.h"
#include "api/prediction.h"
#include "api/reply.h"
#include "api/routes.h"
#include "model/ascii_art.h"

namespace mnistd::api {
namespace {

constexpr std::string_view kJson = "application/json", kText = "text/plain",
                           kBytes = "application/octet-stream";

struct Options {
  std::optional<std::string> model;
  bool ascii = false, scores = false;
};

Options read_options(Query& query) {
  query.allow({"dataset", "split", "index", "pixels", "digit", "model", "ascii", "invert", "scores"});
  Options options;
  options.model = query.text("model");
  options.ascii = query.flag("ascii");
  options.scores = query.flag("scores");
  query.choice("invert", {"auto", "yes", "no"});  // for pictures; raw pixels are taken as they are
  return options;
}

std::string draw(const PredictInput& input, int label) {
  return model::ascii_digit(input.image(0),
                            {input.origin, input.truth, input.index, input.split_count, label});
}

std::string to_text(const PredictInput& input, const model::Prediction& prediction,
                    const std::string& model_id) {
  std::string text = draw(input, prediction.label);
  if (!text.ends_with('\n')) text += '\n';
  text += "LABEL: " + std::to_string(prediction.label) + "\nMARGIN: " + to_json(prediction.margin).dump() +
          "\nMODEL: " + model_id + "\nSCORES:\n";
  for (std::size_t digit = 0; digit < prediction.scores.size(); ++digit)
    text += std::to_string(digit) + "  " + to_json(prediction.scores[digit]).dump() + "\n";
  return text;
}

std::string to_little_endian(const std::vector<float>& values) {
  std::string bytes;
  bytes.reserve(values.size() * 4);
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
  }
  return bytes;
}

void reply_single(Exchange& exchange, const Options& options, const PredictInput& input,
                  const server::ServedModel& model, std::string_view type) {
  const model::Prediction prediction = model.linear.predict(input.image(0));
  if (type == kText) return reply_text(exchange.response, 200, to_text(input, prediction, model.record.id));
  Json json = prediction_json(prediction, model.record.id);
  json["truth"] = input.truth ? Json(*input.truth) : Json(nullptr);
  // Raw pixels are taken as they are.
  json["preprocessing"] = {{"inverted", false}, {"box", nullptr}, {"warnings", Json::array()}};
  json["ascii"] = options.ascii ? Json(draw(input, prediction.label)) : Json(nullptr);
  reply_json(exchange.response, 200, json);
}

void reply_batch(Exchange& exchange, const Options& options, const PredictInput& input,
                 const server::ServedModel& model, std::string_view type) {
  if (options.ascii)
    refuse_fields({{"ascii", "draws one image; the body holds " + std::to_string(input.count())}});
  const std::vector<float> scores = model.linear.batch_scores(input.pixels);
  Json labels = Json::array(), all_scores = Json::array();
  std::string lines;
  for (std::size_t i = 0; i < input.count(); ++i) {
    model::Scores of_image;
    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(i * of_image.size()), of_image.size(),
                of_image.begin());
    const int label = model::to_prediction(of_image).label;
    lines += std::to_string(label) + "\n";
    labels.push_back(label);
    if (options.scores) all_scores.push_back(to_json(of_image));
  }
  if (type == kText) return reply_text(exchange.response, 200, lines);
  Json json = {{"model_id", model.record.id}, {"labels", std::move(labels)}};
  if (options.scores) json["scores"] = std::move(all_scores);
  reply_json(exchange.response, 200, json);
}

void predict(Exchange& exchange) {
  const Options options = read_options(exchange.query);
  const PredictInput input = read_predict_input(exchange);
  const server::ModelSnapshot model = pick_model(exchange.context.daemon, options.model);
  const std::string_view type = negotiate(exchange.header("Accept"), {kJson, kText, kBytes});
  exchange.response.set_header("Vary", "Accept");
  if (type == kBytes) {
    exchange.response.set_header("Cache-Control", "no-store");
    return reply_bytes(exchange.response, 200, to_little_endian(model->linear.batch_scores(input.pixels)),
                       std::string(kBytes));
  }
  if (input.count() == 1) return reply_single(exchange, options, input, *model, type);
  reply_batch(exchange, options, input, *model, type);
}

void post_digit(Exchange&) {
  refuse(404, "not-available-yet",
         "Uploads are not kept yet. POST raw pixels to /predict: 784 bytes a digit as "
         "application/octet-stream, or "
         "{\"pixels\": [784 numbers 0-255]} as application/json.");
}

}  // namespace

void add_predict_routes(Router& router) {
  for (const char* path : {"/predict", "/v1/predict"}) {
    router.add("GET", path, predict);
    router.add("POST", path, predict);
  }
  router.add("POST", "/v1/digits", post_digit);
}

}  // namespace mnistd::api
