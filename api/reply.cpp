#include "api/reply.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <utility>

namespace mnistd::api {

std::string http_date() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void reply_bytes(httplib::Response& response, int status, std::string bytes,
                 const std::string& content_type) {
  response.status = status;
  response.body = std::move(bytes);
  response.headers.erase("Content-Type");
  response.set_header("Content-Type", content_type);
}

void reply_json(httplib::Response& response, int status, const nlohmann::ordered_json& json) {
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  reply_bytes(response, status, dump(json), "application/json");
}

void reply_text(httplib::Response& response, int status, std::string text) {
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  reply_bytes(response, status, std::move(text), "text/plain; charset=utf-8");
}

void reply_empty(httplib::Response& response, int status) {
  response.status = status;
  response.body.clear();
}

bool is_unchanged(const httplib::Request& request, std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  const std::string tags = request.get_header_value("If-None-Match");
  if (tags == "*") return true;
  std::string_view rest = tags;
  while (!rest.empty()) {  // opaque tags hold no comma: ours are hex digits
    const std::size_t comma = rest.find(',');
    std::string_view tag = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (!tag.empty() && (tag.front() == ' ' || tag.front() == '\t')) tag.remove_prefix(1);
    while (!tag.empty() && (tag.back() == ' ' || tag.back() == '\t')) tag.remove_suffix(1);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag) return true;
  }
  return false;
}

std::string weak_etag(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[24];
  std::snprintf(text, sizeof text, "W/\"%016llx\"", static_cast<unsigned long long>(hash));
  return text;
}

void reply_stream(const httplib::Request& request, httplib::Response& response,
                  const std::string& content_type, Source source) {
  response.status = 200;
  const auto shared = std::make_shared<Source>(std::move(source));
  if (request.version == "HTTP/1.0") {
    response.set_content_provider(content_type, [shared](std::size_t, httplib::DataSink& sink) {
      return (*shared)(sink) == Step::more;  // false closes the connection: the only end that HTTP/1.0 knows
    });
    return;
  }
  response.set_chunked_content_provider(content_type, [shared](std::size_t, httplib::DataSink& sink) {
    const Step step = (*shared)(sink);
    if (step == Step::end) sink.done();
    return step != Step::broken;
  });
}

void close_after(httplib::Response& response) {
  response.headers.erase("Connection");
  response.set_header("Connection", "close");
  std::string body = std::exchange(response.body, {});
  if (body.empty()) body = "\n";
  const std::size_t length = body.size();
  const std::string content_type = response.has_header("Content-Type")
                                       ? response.get_header_value("Content-Type")
                                       : std::string("text/plain; charset=utf-8");
  response.headers.erase("Content-Type");
  response.set_content_provider(
      length, content_type,
      [bytes = std::move(body)](std::size_t offset, std::size_t count, httplib::DataSink& sink) {
        sink.write(bytes.data() + offset, std::min(count, bytes.size() - offset));
        return false;
      });
}

}  // namespace mnistd::api
