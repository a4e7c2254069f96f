#include <chrono>

#include "api/context.h"
#include "api/json_codec.h"
#include "api/problem.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"

namespace mnistd::api {
namespace {

// Alive: a connection thread answered. Touches neither device nor store, and takes any query.
void get_health(Exchange& exchange) { reply_json(exchange.response, 200, {{"status", "ok"}}); }

void get_ready(Exchange& exchange) {
  Problem problem{503, "not-ready", ""};
  problem.reasons = exchange.context.daemon.not_ready();
  if (problem.reasons.empty()) return reply_json(exchange.response, 200, {{"ready", true}});
  for (const std::string& reason : problem.reasons)
    problem.detail += (problem.detail.empty() ? "" : "; ") + reason;
  problem.headers.emplace_back("Retry-After", "5");
  write_problem(exchange.response, problem);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

void get_system(Exchange& exchange) {
  exchange.query.allow({});
  exchange.query.finish();
  const server::Daemon::Status status = exchange.context.daemon.status();
  const gpu::DeviceInfo& device = status.device;
  reply_json(
      exchange.response, 200,
      {{"version", exchange.context.version},
       {"device",
        {{"backend", device.backend},
         {"name", device.name},
         {"architecture", device.architecture},
         {"driver", text_or_null(device.driver)},
         {"reason", text_or_null(device.reason)},
         {"wavefront", device.wavefront},
         {"compute_units", device.compute_units}}},
       {"memory", {{"total_bytes", device.memory_bytes}, {"in_use_bytes", status.device_memory_in_use}}},
       {"queue",
        {{"queued", status.queued},
         {"limit", status.queue_limit},
         {"running", status.running_job ? Json(*status.running_job) : Json(nullptr)}}},
       {"streams", {{"open", exchange.context.streams.taken()}, {"limit", exchange.context.streams.limit()}}},
       {"uptime_s", std::chrono::duration<double>(status.uptime).count()},
       {"worker_heartbeat_age_ms", status.heartbeat_age.count()},
       {"draining", status.draining},
       {"data_dir", status.data_dir.string()}});
}

}  // namespace

void add_system_routes(Router& router) {
  router.add("GET", "/healthz", get_health, Router::Key::not_needed);
  router.add("GET", "/readyz", get_ready, Router::Key::not_needed);
  router.add("GET", "/v1/system", get_system);
}

}  // namespace mnistd::api
