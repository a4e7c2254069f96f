// The parameters after the ?, read as strictly as JSON. A name that the route does not know is an error, because a typo
// (?lmit=5) would otherwise silently mean the default; so is a name given twice.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/form.h"
#include "api/problem.h"

namespace mnistd::api {

// Digits only, without leading zeros, from `low` ≥ 0 to `high`; nothing for any other text.
std::optional<std::int64_t> parse_whole(std::string_view text, std::int64_t low, std::int64_t high);

class Query {
 public:
  // `target` is the request's, with the path. Throws Refusal where the query can't be decoded.
  explicit Query(std::string_view target);

  // To be called first: notes an error for each other name. Then the readers note theirs, and finish() throws them all.
  void allow(std::initializer_list<std::string_view> names);
  void finish();
  void add_error(std::string field, std::string message);

  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high);
  // A decimal number in [low, high].
  std::optional<double> number(std::string_view name, double low, double high);
  bool flag(std::string_view name);  // 1, true, yes; 0, false, no; absent is false
  // One of the choices, or nothing where absent or wrong.
  std::optional<std::string> choice(std::string_view name, std::initializer_list<std::string_view> choices);
  // ?limit=, 1..1000, default 100.
  int limit();
  // ?cursor=, as made by make_cursor with the same letter.
  std::optional<std::int64_t> cursor(char list);

 private:
  NameValues pairs_;
  std::vector<FieldError> errors_;
};

// Opaque to clients: where the next page of a list begins. The letter keeps one list's cursor from another's.
std::string make_cursor(char list, std::int64_t value);

}  // namespace mnistd::api
