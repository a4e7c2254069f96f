#include "api/json_fields.h"

#include <algorithm>
#include <cmath>

namespace mnistd::api {
namespace {

std::string format_number(double value) { return Json(value).dump(); }

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

std::optional<std::int64_t> exact_integer(const Json& value, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    number = static_cast<std::int64_t>(wide);
  } else if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const auto real = value.get<double>();
    if (!(std::abs(real) <= 9007199254740992.0) || real != std::floor(real)) return std::nullopt;
    number = static_cast<std::int64_t>(real);
  } else {
    return std::nullopt;
  }
  if (number < low || number > high) return std::nullopt;
  return number;
}

std::string excerpt(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t longest = 40;
  if (text.size() > longest) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return text;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

JsonFields::JsonFields(const Json& object) {
  if (object.is_object())
    object_ = &object;
  else
    add_error("", "the body must be a JSON object, found " + excerpt(object));
}

const Json* JsonFields::find(const std::string& name) {
  known_.push_back(name);
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(name);
  return found == object_->end() ? nullptr : &*found;
}

std::optional<std::int64_t> JsonFields::integer(const std::string& name, std::int64_t low,
                                                std::int64_t high) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = exact_integer(*value, low, high);
  if (!number)
    add_error(name, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
                        ", found " + excerpt(*value));
  return number;
}

std::optional<double> JsonFields::number(const std::string& name, double low, double high) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (number >= low && number <= high) return number;
  }
  add_error(name, "must be a number from " + format_number(low) + " to " + format_number(high) + ", found " +
                      excerpt(*value));
  return std::nullopt;
}

std::optional<std::string> JsonFields::text(const std::string& name, std::size_t longest) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    add_error(name, "must be a string, found " + excerpt(*value));
    return std::nullopt;
  }
  auto text = value->get<std::string>();
  if (const std::size_t length = count_characters(text); length > longest) {
    add_error(name, "must have at most " + std::to_string(longest) + " characters, found " +
                        std::to_string(length));
    return std::nullopt;
  }
  if (has_control_characters(text)) {
    add_error(name, "must not hold control characters");
    return std::nullopt;
  }
  return text;
}

std::optional<std::optional<std::string>> JsonFields::nullable_text(const std::string& name,
                                                                    std::size_t longest) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_null()) return std::optional<std::string>();
  auto given = text(name, longest);
  if (!given) return std::nullopt;
  return given;
}

void JsonFields::add_error(std::string field, std::string message) {
  errors_.push_back({std::move(field), std::move(message)});
}

void JsonFields::finish() {
  if (object_ != nullptr) {
    for (const auto& item : object_->items()) {
      if (std::find(known_.begin(), known_.end(), item.key()) != known_.end()) continue;
      std::string names;
      std::vector<std::string> sorted = known_;
      std::sort(sorted.begin(), sorted.end());
      sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
      for (const std::string& name : sorted) names += (names.empty() ? "" : ", ") + name;
      add_error(item.key().substr(0, 100), "is not a field here; there are: " + names);
      if (errors_.size() >= 50) break;
    }
  }
  if (!errors_.empty()) refuse_fields(std::move(errors_));
}

}  // namespace mnistd::api
