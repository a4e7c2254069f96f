#include "api/accept.h"
#include "api/context.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"
#include "api/sse.h"

namespace mnistd::api {
namespace {

// The header is a browser's, set when it reconnects to an address whose query is still the first one; so it wins.
server::EventPosition where_to_begin(Exchange& exchange) {
  const std::string header = exchange.header("Last-Event-ID");
  const std::string text = !header.empty() ? header : exchange.query.text("last_event_id").value_or("");
  if (text.empty()) return {};
  if (const auto position = parse_event_id(text)) return *position;
  refuse_fields({{header.empty() ? "last_event_id" : "Last-Event-ID",
                  "must be the id of an event of this stream, such as 0-queued, 17, or 300-end"}});
}

void get_events(Exchange& exchange) {
  Query& query = exchange.query;
  query.allow({"format", "last_event_id"});
  const auto format_name = query.choice("format", {"sse", "ndjson"});
  query.finish();
  const bool ndjson =
      format_name ? *format_name == "ndjson"
                  : negotiate(exchange.header("Accept"), {"text/event-stream", "application/x-ndjson"}) ==
                        "application/x-ndjson";
  const std::string& id = exchange.captures[0];
  exchange.context.daemon.job(id);
  const server::EventPosition after = where_to_begin(exchange);
  exchange.response.set_header("Cache-Control", "no-store");
  exchange.response.set_header("X-Accel-Buffering", "no");  // nginx would hold events back
  exchange.response.set_header("Vary", "Accept");
  if (after.rank == server::EventPosition::end)  // tells an EventSource to reconnect no more
    return reply_empty(exchange.response, 204);

  const std::string type = ndjson ? "application/x-ndjson" : "text/event-stream";
  if (exchange.request.method == "HEAD") {
    exchange.response.set_header("Content-Type", type);
    return reply_empty(exchange.response, 200);
  }
  StreamSlots& streams = exchange.context.streams;
  StreamSlots::Slot slot = streams.acquire();
  if (slot == nullptr) {
    Problem problem{503, "unavailable",
                    "All " + std::to_string(streams.limit()) +
                        " event streams are in use. Try again, or poll the job's metrics with ?since=."};
    problem.headers.emplace_back("Retry-After", "5");
    throw Refusal(std::move(problem));
  }
  reply_stream(exchange.request, exchange.response, type,
               EventStream(exchange.context, std::move(slot), id, after,
                           ndjson ? EventFormat::ndjson : EventFormat::sse));
}

}  // namespace

void add_event_routes(Router& router) { router.add("GET", "/v1/jobs/{id}/events", get_events); }

}  // namespace mnistd::api
