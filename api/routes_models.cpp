#include <algorithm>
#include <cmath>
#include <vector>

#include "api/context.h"
#include "api/json_codec.h"
#include "api/png_image.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"
#include "model/weights_file.h"

namespace mnistd::api {
namespace {

void no_parameters(Exchange& exchange) {
  exchange.query.allow({});
  exchange.query.finish();
}

Json describe(Exchange& exchange, const server::ModelRecord& record, const server::ModelSnapshot& active,
              bool complete) {
  const bool is_active = active != nullptr && active->record.id == record.id;
  return to_json(record, is_active, exchange.context.daemon.models().is_chosen(record.id), complete);
}

void list_models(Exchange& exchange) {
  Query& query = exchange.query;
  query.allow({"limit", "cursor"});
  const int limit = query.limit();
  const auto before = query.cursor('m');
  query.finish();
  const server::ModelRegistry& models = exchange.context.daemon.models();
  const auto page = models.list(limit, before);
  const auto active = models.active();
  Json items = Json::array();
  for (const server::ModelRecord& record : page.items)
    items.push_back(describe(exchange, record, active, false));
  reply_json(exchange.response, 200,
             {{"items", std::move(items)},
              {"next_cursor", page.next ? Json(make_cursor('m', *page.next)) : Json(nullptr)}});
}

void get_model(Exchange& exchange) {
  no_parameters(exchange);
  const server::ModelRegistry& models = exchange.context.daemon.models();
  const auto model = models.find(exchange.captures[0]);
  reply_json(exchange.response, 200, describe(exchange, model->record, models.active(), true));
}

void delete_model(Exchange& exchange) {
  no_parameters(exchange);
  exchange.context.daemon.models().erase(exchange.captures[0]);
  reply_empty(exchange.response, 204);
}

void activate_model(Exchange& exchange) {
  no_parameters(exchange);
  server::ModelRegistry& models = exchange.context.daemon.models();
  models.activate(exchange.captures[0]);
  const auto model = models.find(exchange.captures[0]);
  reply_json(exchange.response, 200, describe(exchange, model->record, models.active(), true));
}

void get_weights(Exchange& exchange) {
  no_parameters(exchange);
  const auto model = exchange.context.daemon.models().find(exchange.captures[0]);
  const server::ModelRecord& record = model->record;
  const std::string bytes =
      model::to_safetensors(model->linear.weights(), {{"format", "pt"},
                                                      {"mnistd.model_id", record.id},
                                                      {"mnistd.model", record.spec.model},
                                                      {"mnistd.dataset", record.spec.dataset}});
  exchange.response.set_header("Content-Disposition",
                               "attachment; filename=\"mnistd-" + record.id + ".safetensors\"");
  exchange.response.set_header("Cache-Control", "no-cache");
  const std::string etag = weak_etag(bytes);
  exchange.response.set_header("ETag", etag);
  if (is_unchanged(exchange.request, etag)) return reply_empty(exchange.response, 304);
  reply_bytes(exchange.response, 200, bytes, "application/octet-stream");
}

// White where a pixel says nothing about the digit, red where ink speaks for it, blue where against; the strongest weight
// of all ten digits has the full colour, so that the ten pictures compare.
std::vector<std::uint8_t> colour_weights(const std::vector<float>& weights, int digit) {
  constexpr std::size_t width = model::kPixels + 1;  // with the bias
  float strongest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (i % width != model::kPixels) strongest = std::max(strongest, std::abs(weights[i]));
  std::vector<std::uint8_t> colours;
  colours.reserve(std::size_t{model::kPixels} * 3);
  for (std::size_t pixel = 0; pixel < model::kPixels; ++pixel) {
    const float weight = weights[static_cast<std::size_t>(digit) * width + pixel];
    const float strength = strongest > 0 ? std::abs(weight) / strongest : 0;
    const auto faded = static_cast<std::uint8_t>(std::lround(255 * (1 - strength)));
    const bool speaks_for = weight >= 0;
    colours.insert(colours.end(),
                   {speaks_for ? std::uint8_t{255} : faded, faded, speaks_for ? faded : std::uint8_t{255}});
  }
  return colours;
}

void get_weights_picture(Exchange& exchange) {
  exchange.query.allow({"scale"});
  const int scale = static_cast<int>(exchange.query.integer("scale", 1, 32).value_or(8));
  exchange.query.finish();
  const std::string& file = exchange.captures[1];
  if (file.size() != 5 || file[0] < '0' || file[0] > '9' || !file.ends_with(".png"))
    refuse(404, "not-found", "There are pictures 0.png to 9.png of a model's weights, not " + file + ".");
  const auto model = exchange.context.daemon.models().find(exchange.captures[0]);
  const auto colours = colour_weights(model->linear.weights(), file[0] - '0');
  exchange.response.set_header("Cache-Control", "no-cache");
  reply_bytes(exchange.response, 200, encode_png(colours, model::kColumns, model::kRows, 3, scale),
              "image/png");
}

}  // namespace

void add_model_routes(Router& router) {
  router.add("GET", "/v1/models", list_models);
  router.add("GET", "/v1/models/{id}", get_model);
  router.add("DELETE", "/v1/models/{id}", delete_model);
  router.add("POST", "/v1/models/{id}/activate", activate_model);
  router.add("GET", "/v1/models/{id}/weights", get_weights);
  router.add("GET", "/v1/models/{id}/weights/{file}", get_weights_picture);
}

}  // namespace mnistd::api
