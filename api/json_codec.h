// The daemon's values as JSON, in the order in which the keys are documented and tested. Numbers that are not finite become null.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "model/linear.h"
#include "server/job.h"

namespace mnistd::api {

using Json = nlohmann::ordered_json;

// "2026-11-30T08:15:00.123Z"
std::string format_time(server::Time time);

Json finite_or_null(double value);
// A float in the fewest digits that give it back: 0.1f is 0.1, not 0.10000000149011612.
Json to_json(float value);
Json to_json(const server::JobSpec& spec);
Json to_json(const server::JobResult& result);
Json to_json(const server::JobFailure& failure);
Json to_json(const server::Job& job);
Json to_json(const model::Evaluation& evaluation);  // the confusion matrix, [truth][predicted]
Json to_json(const model::Scores& scores);

Json metrics_columns();
Json metrics_row(const model::MetricsRow& row);     // [iteration, …] by metrics_columns
Json metrics_object(const model::MetricsRow& row);  // {"iteration": …, …}
std::string metrics_csv_header();
std::string metrics_csv_line(const model::MetricsRow& row);  // a number that is not finite is an empty field

// `chosen`: activated by hand. `complete` adds the confusion matrix and the accuracy of each class.
Json to_json(const server::ModelRecord& model, bool active, bool chosen, bool complete);

}  // namespace mnistd::api
