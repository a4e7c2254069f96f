// A job may have a million rows. They are read from the store in batches of kBatch and each batch is written before the next
// is read, so that memory holds one batch a request. What fits in one batch is answered whole, with a Content-Length.
#include <memory>
#include <vector>

#include "api/accept.h"
#include "api/context.h"
#include "api/json_codec.h"
#include "api/reply.h"
#include "api/request_input.h"
#include "api/routes.h"

namespace mnistd::api {
namespace {

constexpr int kBatch = 2000;

enum class Format { json, csv };
using Rows = std::vector<model::MetricsRow>;

std::string opening(Format format) {
  if (format == Format::csv) return metrics_csv_header();
  std::string columns = dump(metrics_columns());
  columns.pop_back();
  return "{\"columns\":" + columns + ",\"rows\":[";
}

std::string closing(Format format) { return format == Format::csv ? "" : "]}\n"; }

std::string format_rows(const Rows& rows, Format format, bool first) {
  std::string text;
  for (const model::MetricsRow& row : rows) {
    if (format == Format::csv) {
      text += metrics_csv_line(row);
      continue;
    }
    if (!first) text += ',';
    first = false;
    text += metrics_row(row).dump();
  }
  return text;
}

// Writes the rows that begin with `rows` (the first batch, read before the headers so that errors have their status).
class MetricsStream {
 public:
  MetricsStream(server::Daemon& daemon, std::string id, Rows rows, Format format)
      : daemon_(&daemon), id_(std::move(id)), rows_(std::move(rows)), format_(format) {}

  Step operator()(httplib::DataSink& sink) {
    std::string text = first_ ? opening(format_) : "";
    text += format_rows(rows_, format_, first_);
    first_ = false;
    const bool last = rows_.size() < kBatch;
    if (last) text += closing(format_);
    if (!text.empty() && !sink.write(text.data(), text.size())) return Step::broken;
    if (last) return Step::end;
    try {
      rows_ = daemon_->metrics(id_, rows_.back().iteration, kBatch);
    } catch (const std::exception&) {
      return Step::broken;  // a table that ends early must not look whole
    }
    return Step::more;
  }

 private:
  server::Daemon* daemon_;
  std::string id_;
  Rows rows_;
  Format format_;
  bool first_ = true;
};

void get_metrics(Exchange& exchange) {
  Query& query = exchange.query;
  query.allow({"since", "format"});
  const auto since = query.integer("since", 0, model::kMaximumIterations);
  const auto format_name = query.choice("format", {"json", "csv"});
  query.finish();
  const bool csv = format_name
                       ? *format_name == "csv"
                       : negotiate(exchange.header("Accept"), {"application/json", "text/csv"}) == "text/csv";
  const Format format = csv ? Format::csv : Format::json;
  const std::string type = csv ? "text/csv; charset=utf-8" : "application/json";
  const std::string& id = exchange.captures[0];
  Rows rows = exchange.context.daemon.metrics(id, static_cast<int>(since.value_or(0)), kBatch);
  exchange.response.set_header("Cache-Control", "no-store");
  exchange.response.set_header("Vary", "Accept");
  if (rows.size() < kBatch)
    return reply_bytes(exchange.response, 200,
                       opening(format) + format_rows(rows, format, true) + closing(format), type);
  reply_stream(exchange.request, exchange.response, type,
               MetricsStream(exchange.context.daemon, id, std::move(rows), format));
}

}  // namespace

void add_metrics_routes(Router& router) { router.add("GET", "/v1/jobs/{id}/metrics", get_metrics); }

}  // namespace mnistd::api
