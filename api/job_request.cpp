#include "api/job_request.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "api/json_codec.h"
#include "api/json_fields.h"

namespace mnistd::api {
namespace {

constexpr std::size_t kNameCharacters = 100;
constexpr std::size_t kKeyCharacters = 200;

std::string in_quotes(const std::string& text) { return excerpt(Json(text)); }

// True for "auto".
bool read_learning_rate(JsonFields& fields, model::TrainSpec& train) {
  const Json* value = fields.find("learning_rate");
  if (value == nullptr) return false;
  if (value->is_string() && *value == "auto") return true;
  if (!value->is_number() || !(value->get<double>() >= 0)) {
    fields.add_error("learning_rate", "must be a number, at least 0, or \"auto\", found " + excerpt(*value));
  } else if (value->get<double>() > static_cast<double>(std::numeric_limits<float>::max())) {
    fields.add_error("learning_rate",
                     "is beyond the largest 32-bit floating-point number, found " + excerpt(*value));
  } else {
    train.learning_rate = value->get<double>();
  }
  return false;
}

void read_names(JsonFields& fields, const server::Datasets& datasets, server::JobSpec& spec) {
  constexpr std::size_t longest = 1000;
  if (const auto solver = fields.text("solver", longest)) {
    if (const auto kind = model::parse_solver(*solver))
      spec.train.solver = *kind;
    else
      fields.add_error("solver", "is not known: " + in_quotes(*solver) + "; available: gemm, gram");
  }
  if (const auto model = fields.text("model", longest)) {
    if (*model == "softmax" || *model == "cnn")
      fields.add_error("model", in_quotes(*model) + " is not available yet; available: linear");
    else if (*model != "linear")
      fields.add_error("model", "is not known: " + in_quotes(*model) + "; available: linear");
  }
  if (const auto dataset = fields.text("dataset", longest)) spec.dataset = *dataset;
  if (!datasets.contains(spec.dataset)) {
    std::string names;
    for (const auto& dataset : datasets) names += (names.empty() ? "" : ", ") + dataset.first;
    fields.add_error("dataset", "is not known: " + in_quotes(spec.dataset) + "; available: " + names);
  }
}

void check_key(JsonFields& fields, const std::string& key) {
  const bool printable = std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  if (!printable || key.size() > kKeyCharacters)
    fields.add_error("Idempotency-Key",
                     "must be at most " + std::to_string(kKeyCharacters) + " printable ASCII characters");
}

}  // namespace

server::Daemon::Submission parse_submission(const Json& object, const std::string& idempotency_key,
                                            const server::Datasets& datasets) {
  server::Daemon::Submission submission;
  server::JobSpec& spec = submission.spec;
  JsonFields fields(object);

  const auto iterations = fields.integer("iterations", 1, model::kMaximumIterations);
  if (iterations) spec.train.iterations = static_cast<int>(*iterations);
  submission.automatic_rate = read_learning_rate(fields, spec.train);
  read_names(fields, datasets, spec);
  if (const auto seed = fields.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()))
    spec.train.seed = static_cast<std::uint32_t>(*seed);
  spec.train.report_every = model::default_report_every(spec.train.iterations);
  if (const auto every = fields.integer("report_every", 1, spec.train.iterations))
    spec.train.report_every = static_cast<int>(*every);
  submission.name = fields.nullable_text("name", kNameCharacters).value_or(std::nullopt);
  check_key(fields, idempotency_key);
  fields.finish();

  if (!idempotency_key.empty()) {
    Json canonical = to_json(spec);  // with the defaults: {} and {"iterations":100} ask for the same
    if (submission.automatic_rate) canonical["learning_rate"] = "auto";
    canonical["name"] = submission.name ? Json(*submission.name) : Json(nullptr);
    submission.idempotency = server::Idempotency{idempotency_key, canonical.dump()};
  }
  return submission;
}

std::optional<std::string> parse_name(const Json& object) {
  JsonFields fields(object);
  const auto name = fields.nullable_text("name", kNameCharacters);
  if (object.is_object() && !object.contains("name")) fields.add_error("name", "is missing");
  fields.finish();
  return *name;
}

}  // namespace mnistd::api
