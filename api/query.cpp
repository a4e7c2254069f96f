#include "api/query.h"

#include <algorithm>
#include <charconv>

#include "api/base64url.h"
#include "api/strict_json.h"

namespace mnistd::api {
namespace {

std::string_view query_of(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::string join(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

std::optional<std::int64_t> parse_whole(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || text[0] == '-' || (text[0] == '0' && text.size() > 1) || error != std::errc() ||
      end != last || value < low || value > high)
    return std::nullopt;
  return value;
}

Query::Query(std::string_view target) : pairs_(parse_form(query_of(target), "query")) {}

void Query::allow(std::initializer_list<std::string_view> names) {
  for (auto pair = pairs_.begin(); pair != pairs_.end(); ++pair) {
    if (std::find(names.begin(), names.end(), pair->first) == names.end())
      add_error(pair->first.substr(0, 100), names.size() == 0
                                                ? "is not a parameter: there are none here"
                                                : "is not a parameter here; there are: " + join(names));
    else if (std::any_of(pairs_.begin(), pair, [&](const auto& other) { return other.first == pair->first; }))
      add_error(pair->first, "is there twice");
  }
}

void Query::finish() {
  if (!errors_.empty()) refuse_fields(errors_);
}

void Query::add_error(std::string field, std::string message) {
  errors_.push_back({std::move(field), std::move(message)});
}

std::optional<std::string> Query::text(std::string_view name) const {
  for (const auto& pair : pairs_)
    if (pair.first == name) return pair.second;
  return std::nullopt;
}

std::optional<std::int64_t> Query::integer(std::string_view name, std::int64_t low, std::int64_t high) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto value = parse_whole(*given, low, high);
  if (!value)
    add_error(std::string(name), "must be a whole number from " + std::to_string(low) + " to " +
                                     std::to_string(high) + ", found \"" + given->substr(0, 40) + "\"");
  return value;
}

std::optional<double> Query::number(std::string_view name, double low, double high) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  double value = 0;
  const char* const last = given->data() + given->size();
  const auto [end, error] = std::from_chars(given->data(), last, value);
  if (!given->empty() && error == std::errc() && end == last && value >= low && value <= high) return value;
  add_error(std::string(name), "must be a number from " + Json(low).dump() + " to " + Json(high).dump() +
                                   ", found \"" + given->substr(0, 40) + "\"");
  return std::nullopt;
}

bool Query::flag(std::string_view name) {
  const auto given = choice(name, {"1", "0", "true", "false", "yes", "no"});
  return given && (*given == "1" || *given == "true" || *given == "yes");
}

std::optional<std::string> Query::choice(std::string_view name,
                                         std::initializer_list<std::string_view> choices) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  if (std::find(choices.begin(), choices.end(), *given) != choices.end()) return given;
  add_error(std::string(name),
            "must be one of " + join(choices) + ", found \"" + given->substr(0, 40) + "\"");
  return std::nullopt;
}

int Query::limit() { return static_cast<int>(integer("limit", 1, 1000).value_or(100)); }

std::optional<std::int64_t> Query::cursor(char list) {
  const auto given = text("cursor");
  if (!given) return std::nullopt;
  const auto decoded = decode_base64url(*given);
  std::optional<std::int64_t> value;
  if (decoded && decoded->size() > 1 && decoded->front() == list)
    value = parse_whole(decoded->substr(1), 0, INT64_MAX);
  if (!value) add_error("cursor", "must be the next_cursor of this list, as it was given");
  return value;
}

std::string make_cursor(char list, std::int64_t value) {
  return encode_base64url(list + std::to_string(value));
}

}  // namespace mnistd::api
