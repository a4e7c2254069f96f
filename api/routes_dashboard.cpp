#include <string>

#include "api/context.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"
#include "web/assets.h"

namespace mnistd::api {
namespace {

// The page loads nothing from elsewhere and runs nothing inline, so nothing else is allowed to.
constexpr const char* kContentSecurityPolicy =
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'";

constexpr const char* kNoDashboard =
    "mnistd is running. The dashboard was left out of this build (-DMNISTD_WEB=OFF); the API is all here:\n\n"
    "  POST /v1/jobs                              start a training:  curl -d iterations=300 HOST/v1/jobs\n"
    "  GET  /v1/jobs, /v1/jobs/ID                 trainings\n"
    "  GET  /v1/jobs/ID/metrics, /events          how one goes, as a table and live\n"
    "  GET  /v1/models, /v1/models/ID             what was learnt\n"
    "  GET  /predict?dataset=mnist&split=test&index=0\n"
    "  POST /predict                              784 bytes of pixels\n"
    "  GET  /v1/datasets, /v1/datasets/NAME/test/0.txt\n"
    "  GET  /v1/system, /healthz, /readyz\n";

void reply_asset(Exchange& exchange, const web::Asset& asset) {
  httplib::Response& response = exchange.response;
  response.set_header("ETag", std::string(asset.etag));
  response.set_header("Cache-Control", asset.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  response.set_header("Vary", "Accept-Encoding");
  response.set_header("Content-Security-Policy", kContentSecurityPolicy);
  response.set_header("Referrer-Policy", "no-referrer");
  if (is_unchanged(exchange.request, asset.etag)) return reply_empty(response, 304);
  reply_bytes(response, 200, std::string(asset.bytes), std::string(asset.content_type));
}

}  // namespace

void add_dashboard_routes(Router& router) {
  // Views into static storage, so a handler may keep them.
  for (const web::Asset& asset : web::assets()) {
    const Handler handler = [asset](Exchange& exchange) { reply_asset(exchange, asset); };
    router.add("GET", std::string(asset.path), handler, Router::Key::not_needed);
    if (asset.path == "/index.html") router.add("GET", "/", handler, Router::Key::not_needed);
  }
  if (web::assets().empty())
    router.add(
        "GET", "/", [](Exchange& exchange) { reply_text(exchange.response, 200, kNoDashboard); },
        Router::Key::not_needed);
}

}  // namespace mnistd::api
