#include "gpu/bench/report_json.h"

#include <nlohmann/json.hpp>

namespace mnistd::gpu::bench {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Summary& summary) {
  return {{"median", summary.median},
          {"lower_quartile", summary.lower},
          {"upper_quartile", summary.upper},
          {"least", summary.least},
          {"most", summary.most},
          {"samples", summary.count}};
}

ordered_json json_of(const Row& row, bool on_processor) {
  ordered_json json = {{"operation", row.operation},
                       {"kernel", row.kernel.empty() ? ordered_json() : ordered_json(row.kernel)},
                       {"source", row.source},
                       {"right", row.faults.empty()},
                       {"faults", row.faults},
                       {"flops", row.work.flops},
                       {"byte_operations", row.work.byte_operations},
                       {"bytes", row.work.bytes},
                       {"limit_ms", row.bound.milliseconds},
                       {"limited_by", row.bound.by}};
  if (!row.timing) return json;
  const double seconds = row.timing->warm.median * 1e-3;
  json["warm_ms"] = json_of(row.timing->warm);
  json["calls_a_sample"] = row.timing->calls_a_sample;
  json["cold_ms"] = json_of(row.timing->cold);
  if (on_processor) json["processor_ms"] = json_of(row.timing->processor);
  json["operations_per_second"] = (row.work.flops + row.work.byte_operations) / seconds;
  json["bytes_per_second"] = row.work.bytes / seconds;
  json["share_of_limit"] = row.bound.milliseconds / row.timing->warm.median;
  return json;
}

ordered_json json_of(const Training& training) {
  return {{"solver", training.solver},      {"iterations", training.iterations},
          {"learning_rate", training.rate}, {"ms_per_iteration", training.milliseconds},
          {"loss", training.loss},          {"float64_loss", training.expected_loss},
          {"faults", training.faults}};
}

ordered_json json_of(const DeviceInfo& device) {
  return {{"backend", device.backend},           {"name", device.name},
          {"architecture", device.architecture}, {"driver", device.driver},
          {"wavefront", device.wavefront},       {"compute_units", device.compute_units},
          {"memory_bytes", device.memory_bytes}, {"cache_bytes", device.cache_bytes}};
}

}  // namespace

std::string json_of(const Report& report, const std::string& version, const std::string& date) {
  ordered_json rows = ordered_json::array(), trainings = ordered_json::array();
  for (const Row& row : report.rows) rows.push_back(json_of(row, report.device.backend == "cpu"));
  for (const Training& training : report.trainings) trainings.push_back(json_of(training));
  const double images = static_cast<double>(report.memory.images);
  const ordered_json json = {
      {"program", "mnistd bench"},
      {"version", version},
      {"date", date},
      {"device", json_of(report.device)},
      {"images",
       {{"count", report.images}, {"source", report.source}, {"repeated_from", report.host_images}}},
      {"limits",
       {{"bytes_per_second", report.limits.bytes},
        {"flops", report.limits.flops},
        {"byte_operations_per_second", report.limits.byte_operations}}},
      {"memory",
       {{"image_bytes", report.memory.images},
        {"gemm_scratch_bytes", report.memory.gemm_scratch},
        {"scratch_bytes", report.memory.all_scratch},
        {"gemm_scratch_ratio", static_cast<double>(report.memory.gemm_scratch) / images},
        {"scratch_ratio", static_cast<double>(report.memory.all_scratch) / images}}},
      {"rows", std::move(rows)},
      {"trainings", std::move(trainings)},
      {"right", report.right()}};
  return json.dump(1) + "\n";
}

}  // namespace mnistd::gpu::bench
