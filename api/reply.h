// How an answer is put into httplib's response: whole, streamed, or as the last one of its connection.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <httplib.h>

namespace mnistd::api {

// Text of JSON, with a line end so that a terminal's prompt comes on its own line. Invalid UTF-8 becomes U+FFFD: this is
// also called in error handlers and must not throw.
std::string dump(const nlohmann::ordered_json& json);

std::string http_date();  // now, for a Date header

void reply_bytes(httplib::Response& response, int status, std::string bytes, const std::string& content_type);
void reply_json(httplib::Response& response, int status, const nlohmann::ordered_json& json);
void reply_text(httplib::Response& response, int status, std::string text);
void reply_empty(httplib::Response& response, int status);

// True where one of the tags in If-None-Match is `etag`, compared weakly (RFC 9110 §13.1.2).
bool is_unchanged(const httplib::Request& request, std::string_view etag);
// A weak ETag of these bytes (FNV-1a, 64 bits). Weak, because httplib may compress what follows.
std::string weak_etag(std::string_view bytes);

// Called again and again to write the next piece. Says `more`, `end` (all is written), or `broken` (the client is gone or
// the source failed: the connection is cut, so that nobody takes the piece for the whole).
enum class Step { more, end, broken };
using Source = std::function<Step(httplib::DataSink& sink)>;
// Streams 200: chunked, or until the connection closes for an HTTP/1.0 client (proxies often are). `source` runs on the
// connection's thread and is destroyed with the response.
void reply_stream(const httplib::Request& request, httplib::Response& response,
                  const std::string& content_type, Source source);

// Makes the answer (which must be whole) the last one of its connection, because what the client still sends can't be told
// from a next request. httplib has no call for that; a content provider that fails after the last byte does it.
void close_after(httplib::Response& response);

}  // namespace mnistd::api
