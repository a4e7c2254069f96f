#include "api/json_codec.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace mnistd::api {
namespace {

constexpr std::array<const char*, 5> kColumns = {"iteration", "loss", "train_accuracy", "test_accuracy",
                                                 "elapsed_ms"};

Json number(double value) { return finite_or_null(value); }

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json time_or_null(const std::optional<server::Time>& time) {
  return time ? Json(format_time(*time)) : Json(nullptr);
}

Json name_or_null(const std::optional<std::string>& name) { return name ? Json(*name) : Json(nullptr); }

Json progress_json(const server::JobProgress& progress) {
  return {{"iteration", progress.iteration},
          {"loss", number(progress.loss)},
          {"train_accuracy", number(progress.train_accuracy)},
          {"test_accuracy", number(progress.test_accuracy)},
          {"ms_per_iteration", number(progress.ms_per_iteration)},
          {"eta_s", number(progress.eta_s)}};
}

std::array<Json, 5> cells(const model::MetricsRow& row) {
  return {Json(row.iteration), number(row.loss), number(row.train_accuracy), number(row.test_accuracy),
          number(row.elapsed_ms)};
}

}  // namespace

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string format_time(server::Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

Json to_json(float value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double shortest = 0;
  std::from_chars(text, end, shortest);
  return shortest;
}

Json to_json(const server::JobSpec& spec) {
  return {{"iterations", spec.train.iterations},
          {"learning_rate", number(spec.train.learning_rate)},
          {"solver", model::to_string(spec.train.solver)},
          {"dataset", spec.dataset},
          {"model", spec.model},
          {"seed", spec.train.seed},
          {"report_every", spec.train.report_every}};
}

Json to_json(const server::JobResult& result) {
  return {{"model_id", result.model_id},
          {"loss", number(result.loss)},
          {"train_accuracy", number(result.train_accuracy)},
          {"test_accuracy", number(result.test_accuracy)},
          {"train_correct", result.train_correct},
          {"test_correct", result.test_correct},
          {"train_ms", number(result.train_ms)},
          {"ms_per_iteration", number(result.ms_per_iteration)}};
}

Json to_json(const server::JobFailure& failure) {
  return {{"code", failure.code}, {"message", failure.message}};
}

Json to_json(const server::Job& job) {
  return {{"id", job.id},
          {"state", server::to_string(job.state)},
          {"name", name_or_null(job.name)},
          {"spec", to_json(job.spec)},
          {"progress", progress_json(job.progress)},
          {"result", or_null(job.result)},
          {"warnings", job.warnings},
          {"error", or_null(job.error)},
          {"created_at", format_time(job.created_at)},
          {"started_at", time_or_null(job.started_at)},
          {"finished_at", time_or_null(job.finished_at)},
          {"device", job.device}};
}

Json to_json(const model::Evaluation& evaluation) {
  Json rows = Json::array();
  for (const auto& row : evaluation.confusion) rows.push_back(row);
  return rows;
}

Json to_json(const model::Scores& scores) {
  Json numbers = Json::array();
  for (const float score : scores) numbers.push_back(to_json(score));
  return numbers;
}

Json metrics_columns() { return kColumns; }

Json metrics_row(const model::MetricsRow& row) {
  Json numbers = Json::array();
  for (Json& cell : cells(row)) numbers.push_back(std::move(cell));
  return numbers;
}

Json metrics_object(const model::MetricsRow& row) {
  Json object = Json::object();
  const auto numbers = cells(row);
  for (std::size_t i = 0; i < kColumns.size(); ++i) object[kColumns[i]] = numbers[i];
  return object;
}

std::string metrics_csv_header() {
  std::string line;
  for (const char* column : kColumns) line += (line.empty() ? "" : ",") + std::string(column);
  return line + "\n";
}

std::string metrics_csv_line(const model::MetricsRow& row) {
  std::string line = std::to_string(row.iteration);
  const auto numbers = cells(row);
  for (std::size_t i = 1; i < numbers.size(); ++i)
    line += numbers[i].is_null() ? "," : "," + numbers[i].dump();
  return line + "\n";
}

Json to_json(const server::ModelRecord& model, bool active, bool chosen, bool complete) {
  Json json = {{"id", model.id},
               {"name", name_or_null(model.name)},
               {"active", active},
               {"activated_by_hand", chosen},
               {"spec", to_json(model.spec)},
               {"loss", number(model.loss)},
               {"train_accuracy", model.train_count > 0
                                      ? number(static_cast<double>(model.train_correct) / model.train_count)
                                      : Json(nullptr)},
               {"test_accuracy", number(model.test.accuracy())},
               {"train_correct", model.train_correct},
               {"train_count", model.train_count},
               {"test_correct", model.test.correct()},
               {"test_count", model.test.total()},
               {"created_at", format_time(model.created_at)}};
  if (complete) {
    json["confusion_matrix"] = to_json(model.test);
    Json by_class = Json::array();
    for (int digit = 0; digit < model::kClasses; ++digit)
      by_class.push_back(number(model.test.accuracy_of(digit)));
    json["accuracy_by_class"] = std::move(by_class);
  }
  return json;
}

}  // namespace mnistd::api
