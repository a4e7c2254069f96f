#include "api/context.h"
#include "api/job_request.h"
#include "api/json_codec.h"
#include "api/json_fields.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"

namespace mnistd::api {
namespace {

void post_job(Exchange& exchange) {
  exchange.query.allow({});
  exchange.query.finish();
  const Json body = read_object(exchange, "a job");
  if (exchange.request.get_header_value_count("Idempotency-Key") > 1)
    refuse_fields({{"Idempotency-Key", "is there twice"}});
  const auto submission =
      parse_submission(body, exchange.header("Idempotency-Key"), exchange.context.daemon.datasets());
  const auto inserted = exchange.context.daemon.submit(submission);
  exchange.response.set_header("Location", "/v1/jobs/" + inserted.job.id);
  if (inserted.repeated) exchange.response.set_header("Idempotency-Replayed", "true");
  reply_json(exchange.response, 202, to_json(inserted.job));
}

void list_jobs(Exchange& exchange) {
  Query& query = exchange.query;
  query.allow({"state", "limit", "cursor"});
  const auto state_name = query.choice("state", {"queued", "running", "succeeded", "failed", "cancelled"});
  const int limit = query.limit();
  const auto before = query.cursor('j');
  query.finish();
  std::optional<server::JobState> state;
  if (state_name) state = server::parse_job_state(*state_name);
  const auto page = exchange.context.daemon.jobs(state, limit, before);
  Json items = Json::array();
  for (const server::Job& job : page.items) items.push_back(to_json(job));
  reply_json(exchange.response, 200,
             {{"items", std::move(items)},
              {"next_cursor", page.next ? Json(make_cursor('j', *page.next)) : Json(nullptr)}});
}

void get_job(Exchange& exchange) {
  exchange.query.allow({});
  exchange.query.finish();
  const Json body = to_json(exchange.context.daemon.job(exchange.captures[0]));
  const std::string etag = weak_etag(body.dump(-1, ' ', false, Json::error_handler_t::replace));
  exchange.response.set_header("ETag", etag);
  exchange.response.set_header("Cache-Control", "no-cache");
  if (is_unchanged(exchange.request, etag)) return reply_empty(exchange.response, 304);
  reply_json(exchange.response, 200, body);
}

void patch_job(Exchange& exchange) {
  exchange.query.allow({});
  exchange.query.finish();
  const std::string& id = exchange.captures[0];
  exchange.context.daemon.job(id);  // an unknown job is a 404, whatever the body says
  const auto name = parse_name(read_object(exchange, "a change of a job"));
  reply_json(exchange.response, 200, to_json(exchange.context.daemon.rename(id, name)));
}

void delete_job(Exchange& exchange) {
  exchange.query.allow({"purge"});
  const bool purge = exchange.query.flag("purge");
  exchange.query.finish();
  const std::string& id = exchange.captures[0];
  if (purge) {
    exchange.context.daemon.purge(id);
    return reply_empty(exchange.response, 204);
  }
  const server::Job job = exchange.context.daemon.cancel(id);
  reply_json(exchange.response, server::has_ended(job.state) ? 200 : 202, to_json(job));
}

}  // namespace

void add_job_routes(Router& router) {
  router.add("GET", "/v1/jobs", list_jobs);
  router.add("POST", "/v1/jobs", post_job);
  router.add("GET", "/v1/jobs/{id}", get_job);
  router.add("PATCH", "/v1/jobs/{id}", patch_job);
  router.add("DELETE", "/v1/jobs/{id}", delete_job);
}

}  // namespace mnistd::api
