// The loss curve that a training would have, without training: from the dataset's spectrum, in closed form.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "api/accept.h"
#include "api/context.h"
#include "api/json_codec.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"
#include "model/spectrum.h"

namespace mnistd::api {
namespace {

struct Request {
  model::TrainSpec spec;
  bool automatic_rate = false;
  bool csv = false;
};

Request read_request(Exchange& exchange) {
  Request request;
  Query& query = exchange.query;
  query.allow({"learning_rate", "iterations", "seed", "format"});
  if (const auto iterations = query.integer("iterations", 1, model::kMaximumIterations))
    request.spec.iterations = static_cast<int>(*iterations);
  if (const auto seed = query.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()))
    request.spec.seed = static_cast<std::uint32_t>(*seed);
  request.automatic_rate = query.text("learning_rate") == "auto";
  if (!request.automatic_rate) {
    constexpr double largest = std::numeric_limits<float>::max();
    if (const auto rate = query.number("learning_rate", 0, largest)) request.spec.learning_rate = *rate;
  }
  const auto format = query.choice("format", {"json", "csv"});
  query.finish();
  request.csv = format ? *format == "csv"
                       : negotiate(exchange.header("Accept"), {"application/json", "text/csv"}) == "text/csv";
  request.spec.report_every = model::default_report_every(request.spec.iterations);
  return request;
}

// Iterations with their losses, those of a job's metrics rows: k's is of the weights before update k.
std::vector<std::pair<int, double>> rows_of(const model::ClosedForm& form, const model::TrainSpec& spec) {
  const int every = spec.report_every, multiples = spec.iterations / every;
  std::vector<std::pair<int, double>> rows;
  if (every > 1) rows.emplace_back(1, form.loss(0));
  const auto losses = form.losses(every - 1, every, multiples);
  for (int i = 0; i < multiples; ++i) rows.emplace_back((i + 1) * every, losses[static_cast<std::size_t>(i)]);
  if (spec.iterations % every != 0) rows.emplace_back(spec.iterations, form.loss(spec.iterations - 1));
  return rows;
}

void get_curve(Exchange& exchange) {
  const std::string& name = exchange.captures[0];
  exchange.context.daemon.dataset(name);  // an unknown dataset is a 404, whatever the parameters say
  Request request = read_request(exchange);
  const auto spectrum = exchange.context.daemon.wait_for_spectrum(name);
  if (request.automatic_rate) request.spec.learning_rate = spectrum->automatic_rate();
  const model::ClosedForm form(*spectrum, request.spec.seed, static_cast<float>(request.spec.learning_rate));
  const auto curve = rows_of(form, request.spec);
  exchange.response.set_header("Vary", "Accept");
  if (request.csv) {
    std::string lines = "iteration,loss\n";
    for (const auto& [iteration, loss] : curve)
      lines += std::to_string(iteration) + "," + (std::isfinite(loss) ? Json(loss).dump() : "") + "\n";
    return reply_bytes(exchange.response, 200, lines, "text/csv; charset=utf-8");
  }
  Json rows = Json::array();
  for (const auto& [iteration, loss] : curve) rows.push_back(Json::array({iteration, finite_or_null(loss)}));
  reply_json(exchange.response, 200,
             {{"columns", Json::array({"iteration", "loss"})},
              {"rows", std::move(rows)},
              {"learning_rate", request.spec.learning_rate},
              {"stability_limit", spectrum->stability_limit()}});
}

}  // namespace

void add_curve_routes(Router& router) { router.add("GET", "/v1/datasets/{name}/curve", get_curve); }

}  // namespace mnistd::api
