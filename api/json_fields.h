// Typed, strict reading of a JSON object's fields. nlohmann's get<int>() takes 3.9 as 3, true as 1 and 4294967297 as 1;
// these readers take none of that, and gather every error instead of stopping at the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/problem.h"
#include "api/strict_json.h"

namespace mnistd::api {

// A whole number in [low, high]; 3.0 and 3e2 are whole. Nothing for anything else.
std::optional<std::int64_t> exact_integer(const Json& value, std::int64_t low, std::int64_t high);
// As much of a value as an error message should repeat.
std::string excerpt(const Json& value);
// Length in code points of valid UTF-8.
std::size_t count_characters(std::string_view text);

class JsonFields {
 public:
  // The object must outlive the reader; a value that is no object is an error of its own.
  explicit JsonFields(const Json& object);

  // Each gives the value, or nothing where the field is absent or wrong (an error is noted then).
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t low, std::int64_t high);
  std::optional<double> number(const std::string& name, double low, double high);
  std::optional<std::string> text(const std::string& name, std::size_t longest);
  // As text, where null is a value too: the outer optional is "given", the inner one the value.
  std::optional<std::optional<std::string>> nullable_text(const std::string& name, std::size_t longest);

  const Json* find(const std::string& name);  // marks it as known; null where absent
  void add_error(std::string field, std::string message);
  // Notes an error for each field that nobody asked for, then throws the Refusal if there is any error.
  void finish();

 private:
  const Json* object_ = nullptr;
  std::vector<std::string> known_;
  std::vector<FieldError> errors_;
};

}  // namespace mnistd::api
