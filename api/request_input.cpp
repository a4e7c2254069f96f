#include "api/request_input.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "api/form.h"
#include "api/json_fields.h"
#include "api/problem.h"

namespace mnistd::api {
namespace {

constexpr std::size_t kDiscardedBytes = 8 * kBodyBytes;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Digits only, by parse_head.
unsigned long long content_length(const httplib::Request& request) {
  return std::strtoull(request.get_header_value("Content-Length").c_str(), nullptr, 10);
}

std::string_view skip_space(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

bool looks_like_form(std::string_view body) {
  const std::size_t equals = body.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

void check_charset(const std::string& content_type) {
  const std::string text = lower(content_type);
  const std::size_t at = text.find("charset=");
  if (at == std::string::npos) return;
  std::string charset = text.substr(at + 8, text.find(';', at) - at - 8);
  charset.erase(std::remove(charset.begin(), charset.end(), '"'), charset.end());
  while (!charset.empty() && charset.back() == ' ') charset.pop_back();
  if (charset != "utf-8" && charset != "utf8" && charset != "us-ascii")
    refuse(415, "unsupported-type", "The body must be UTF-8, not " + charset + ".");
}

Json parse_body(const std::string& body, const std::string& type) {
  try {
    return parse_json(body);
  } catch (const JsonError& error) {
    std::string detail = error.what();
    if (type == "application/json" && looks_like_form(body))
      detail +=
          ". The Content-Type says application/json, but the body looks like a form: send JSON, or leave "
          "out the Content-Type header.";
    refuse(400, "invalid-json", detail);
  }
}

// A form has only text: what reads as a JSON number is one, so that one reader checks both kinds of body.
Json value_of(const std::string& text) {
  if (text.empty()) return nullptr;
  const char last = text.back();
  if ((text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) && last >= '0' && last <= '9') {
    try {
      return parse_json(text);
    } catch (const JsonError&) {
      return text;
    }
  }
  return text;
}

Json parse_form_object(const std::string& body) {
  Json object = Json::object();
  std::vector<FieldError> errors;
  for (const auto& [name, value] : parse_form(body, "form")) {
    if (object.contains(name))
      errors.push_back({name.substr(0, 100), "is there twice"});
    else
      object[name] = value_of(value);
    if (object.size() > 100) refuse(400, "invalid-input", "The form has more than 100 fields.");
  }
  if (!errors.empty()) refuse_fields(std::move(errors));
  return object;
}

}  // namespace

Exchange::Exchange(Context& context_, const httplib::Request& request_, httplib::Response& response_,
                   const httplib::ContentReader* reader)
    : context(context_),
      request(request_),
      response(response_),
      query(request_.target),
      reader_(reader),
      body_state_(content_length(request_) > 0 ? BodyState::unread : BodyState::none) {}

std::string Exchange::content_type() const {
  std::string type = header("Content-Type");
  type = lower(type.substr(0, type.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  return type;
}

bool Exchange::receive(const std::function<bool(const char*, std::size_t)>& take) {
  // httplib's plain reader has no use for a multipart body and calls an empty function with it. The generic lambda is
  // because the type of a part's header has changed its name.
  if (request.is_multipart_form_data()) return (*reader_)([](const auto&) { return true; }, take);
  return (*reader_)(take);
}

std::string Exchange::read_body(std::size_t longest, const std::string& what) {
  if (body_state_ == BodyState::none) return {};
  if (request.is_multipart_form_data())
    refuse(415, "unsupported-type", "multipart/form-data is not taken here (" + what + ").");
  if (reader_ == nullptr || content_length(request) > kDiscardedBytes) {
    body_state_ = BodyState::lost;
    refuse(413, "too-large", "The body is larger than " + std::to_string(longest) + " bytes (" + what + ").");
  }
  std::string body;
  std::size_t received = 0;
  body_state_ = BodyState::lost;
  const bool whole = receive([&](const char* bytes, std::size_t count) {
    received += count;
    if (received <= longest) body.append(bytes, count);
    return received <= kDiscardedBytes;
  });
  if (whole) body_state_ = BodyState::read;
  // httplib skips a body whose Content-Length is beyond its limit and calls that a failure: it is still in step.
  const bool skipped = !whole && content_length(request) > kBodyBytes;
  if (received > longest || skipped)
    refuse(413, "too-large",
           "The body is larger than " + std::to_string(longest) + " bytes, the most for " + what + ".");
  if (!whole) {
    response.status = -1;
    refuse(400, "body-cut-short",
           "The body ended after " + std::to_string(received) + " bytes; Content-Length says " +
               std::to_string(content_length(request)) + ".");
  }
  return body;
}

void Exchange::discard_body() {
  if (body_state_ != BodyState::unread) return;
  body_state_ = BodyState::lost;
  if (reader_ == nullptr || content_length(request) > kBodyBytes) return;
  std::size_t received = 0;
  if (receive([&](const char*, std::size_t count) { return (received += count) <= kBodyBytes; }))
    body_state_ = BodyState::read;
}

Json read_object(Exchange& exchange, const std::string& what) {
  const std::string type = exchange.content_type();
  const bool is_form = type.empty() || type == "application/x-www-form-urlencoded";
  const bool is_json = type == "application/json" || type.ends_with("+json");
  if (exchange.body_state() == BodyState::none) return Json::object();
  if (!is_form && !is_json)
    refuse(415, "unsupported-type",
           "The body of " + what + " must be application/json or application/x-www-form-urlencoded, not " +
               type + ".");
  check_charset(exchange.header("Content-Type"));
  const std::string body = exchange.read_body(kJsonBytes, what);
  const std::string_view text = skip_space(body);
  if (text.starts_with("\xEF\xBB\xBF"))
    refuse(400, "invalid-input", "The body begins with a byte order mark (BOM); send UTF-8 without one.");
  if (text.empty()) return Json::object();
  if (is_json || text.front() == '{' || text.front() == '[') return parse_body(body, type);
  return parse_form_object(std::string(text.substr(0, text.find_last_not_of(" \t\r\n") + 1)));
}

}  // namespace mnistd::api
