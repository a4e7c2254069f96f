// Names and values of a query or of a form body (application/x-www-form-urlencoded), and the segments of a path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mnistd::api {

bool is_utf8(std::string_view text);

// "%41+b" → "A b" with plus_is_space. Nothing where a % has no two hex digits after it.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

using NameValues = std::vector<std::pair<std::string, std::string>>;
// In order, repeated names kept. Throws Refusal 400 (bad escapes, invalid UTF-8); `what` is "query" or "form".
NameValues parse_form(std::string_view text, std::string_view what);

// "/v1/jobs/a%2Fb" → {"v1", "jobs", "a/b"}; "/" → {}. Nothing for a path that does not begin with / or has bad escapes.
std::optional<std::vector<std::string>> split_path(std::string_view path);

}  // namespace mnistd::api
