#include "api/accept.h"
#include "api/context.h"
#include "api/json_codec.h"
#include "api/png_image.h"
#include "api/prediction.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"
#include "model/ascii_art.h"

namespace mnistd::api {
namespace {

Json describe(const model::Dataset& dataset, server::Daemon& daemon) {
  const auto spectrum = daemon.find_spectrum(dataset.name);
  return {{"name", dataset.name},
          {"rows", model::kRows},
          {"columns", model::kColumns},
          {"classes", model::kClasses},
          {"splits", {{"train", dataset.train.count()}, {"test", dataset.test.count()}}},
          {"stability_limit", spectrum ? Json(spectrum->stability_limit()) : Json(nullptr)}};
}

model::SplitName split_of(const std::string& text) {
  if (const auto split = model::parse_split(text)) return *split;
  refuse(404, "not-found", "A dataset has the splits train and test, not " + text.substr(0, 100) + ".");
}

void list_datasets(Exchange& exchange) {
  exchange.query.allow({"limit", "cursor"});
  const auto limit = static_cast<std::size_t>(exchange.query.limit());
  const auto start = static_cast<std::size_t>(exchange.query.cursor('s').value_or(0));
  exchange.query.finish();
  Json items = Json::array();
  std::size_t place = 0;
  for (const auto& [name, dataset] : exchange.context.daemon.datasets()) {
    if (place >= start && items.size() < limit) items.push_back(describe(*dataset, exchange.context.daemon));
    ++place;
  }
  const std::size_t next = start + items.size();
  const bool more = next < place && !items.empty();
  reply_json(
      exchange.response, 200,
      {{"items", std::move(items)},
       {"next_cursor", more ? Json(make_cursor('s', static_cast<std::int64_t>(next))) : Json(nullptr)}});
}

void get_dataset(Exchange& exchange) {
  exchange.query.allow({});
  exchange.query.finish();
  reply_json(exchange.response, 200,
             describe(*exchange.context.daemon.dataset(exchange.captures[0]), exchange.context.daemon));
}

// ?truth=5&predicted=3&wrong=1: images in order, those that the filters let through, with the active model's labels.
void list_digits(Exchange& exchange) {
  const auto dataset = exchange.context.daemon.dataset(exchange.captures[0]);
  const model::SplitName split_name = split_of(exchange.captures[1]);
  Query& query = exchange.query;
  query.allow({"truth", "predicted", "wrong", "limit", "cursor"});
  const auto truth = query.integer("truth", 0, 9), predicted = query.integer("predicted", 0, 9);
  const bool wrong = query.flag("wrong");
  const auto limit = static_cast<std::size_t>(query.limit());
  const std::int64_t start = query.cursor('d').value_or(0);
  query.finish();

  const auto model = exchange.context.daemon.models().active();
  if (model == nullptr && (predicted || wrong)) refuse_no_model(exchange.context.daemon);
  const model::Split& split = dataset->split(split_name);
  const std::vector<std::uint8_t>* labels = model ? &model->labels_of(*dataset, split_name) : nullptr;
  Json items = Json::array();
  std::optional<std::int64_t> next;
  for (std::int64_t index = start; index < split.count(); ++index) {
    const auto i = static_cast<std::size_t>(index);
    if (truth && split.labels[i] != *truth) continue;
    if (predicted && (*labels)[i] != *predicted) continue;
    if (wrong && (*labels)[i] == split.labels[i]) continue;
    if (items.size() == limit) {
      next = index;
      break;
    }
    items.push_back({{"index", index},
                     {"truth", split.labels[i]},
                     {"predicted", labels ? Json((*labels)[i]) : Json(nullptr)}});
  }
  reply_json(
      exchange.response, 200,
      {{"items", std::move(items)}, {"next_cursor", next ? Json(make_cursor('d', *next)) : Json(nullptr)}});
}

struct Digit {
  std::shared_ptr<const model::Dataset> dataset;
  model::SplitName split_name;
  int index = 0;
  server::ModelSnapshot model;  // null: none is active
  const model::Split& split() const { return dataset->split(split_name); }
  model::Image image() const { return split().image(index); }
  int truth() const { return split().labels[static_cast<std::size_t>(index)]; }
};

// "42", "42.txt", "42.png" → the digit and "", "txt", "png".
Digit find_digit(Exchange& exchange, std::string& extension) {
  Digit digit{exchange.context.daemon.dataset(exchange.captures[0]), split_of(exchange.captures[1]), 0,
              exchange.context.daemon.models().active()};
  const std::string& file = exchange.captures[2];
  const std::size_t dot = file.find('.');
  const std::string number = file.substr(0, dot);
  extension = dot == std::string::npos ? "" : file.substr(dot + 1);
  const auto index = parse_whole(number, 0, digit.split().count() - 1);
  if (!index)
    refuse(404, "not-found",
           "The split has images 0 to " + std::to_string(digit.split().count() - 1) + ", not " +
               number.substr(0, 40) + ".");
  digit.index = static_cast<int>(*index);
  if (dot != std::string::npos && extension != "txt" && extension != "png")
    refuse(404, "not-found", "A digit comes as JSON, .txt and .png, not ." + extension.substr(0, 40) + ".");
  return digit;
}

void reply_digit_json(Exchange& exchange, const Digit& digit) {
  Json prediction = nullptr;
  if (digit.model)
    prediction = prediction_json(digit.model->linear.predict(digit.image()), digit.model->record.id);
  Json pixels = Json::array();
  for (const std::uint8_t pixel : digit.image()) pixels.push_back(pixel);
  reply_json(exchange.response, 200,
             {{"dataset", digit.dataset->name},
              {"split", model::to_string(digit.split_name)},
              {"index", digit.index},
              {"id", digit.index + 1},
              {"truth", digit.truth()},
              {"prediction", std::move(prediction)},
              {"pixels", std::move(pixels)}});
}

void reply_digit_text(Exchange& exchange, const Digit& digit, bool color) {
  std::optional<int> prediction;
  if (digit.model) prediction = digit.model->linear.predict(digit.image()).label;
  reply_text(exchange.response, 200,
             model::ascii_digit(digit.image(),
                                {model::to_string(digit.split_name), digit.truth(), digit.index,
                                 digit.split().count(), prediction},
                                color));
}

void get_digit(Exchange& exchange) {
  std::string extension;
  const Digit digit = find_digit(exchange, extension);
  if (extension.empty()) {
    const auto type = negotiate(exchange.header("Accept"), {"application/json", "text/plain", "image/png"});
    extension = type == "text/plain" ? "txt" : type == "image/png" ? "png" : "json";
    exchange.response.set_header("Vary", "Accept");
  }
  Query& query = exchange.query;
  if (extension == "txt")
    query.allow({"color"});
  else if (extension == "png")
    query.allow({"scale"});
  else
    query.allow({});
  const bool color = query.flag("color");
  const int scale = static_cast<int>(query.integer("scale", 1, 32).value_or(1));
  query.finish();
  if (extension == "txt") return reply_digit_text(exchange, digit, color);
  if (extension == "json") return reply_digit_json(exchange, digit);
  exchange.response.set_header("Cache-Control", "private, max-age=3600");
  reply_bytes(exchange.response, 200, encode_png(digit.image(), model::kColumns, model::kRows, 1, scale),
              "image/png");
}

}  // namespace

void add_dataset_routes(Router& router) {
  router.add("GET", "/v1/datasets", list_datasets);
  router.add("GET", "/v1/datasets/{name}", get_dataset);
  router.add("GET", "/v1/datasets/{name}/{split}", list_digits);
  router.add("GET", "/v1/datasets/{name}/{split}/{index}", get_digit);
}

}  // namespace mnistd::api
