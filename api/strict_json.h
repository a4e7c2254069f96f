// Text to JSON, strictly. nlohmann's DOM parser takes the last of two equal keys and any depth; here a handler of its SAX
// events builds the value and refuses both. UTF-8 is checked, numbers beyond a double (1e400) and anything after the
// value are refused, and every message says where.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace mnistd::api {

using Json = nlohmann::ordered_json;

inline constexpr int kJsonDepth = 16;
inline constexpr std::size_t kJsonBytes = 64 * 1024;

// The message begins with the place: "line 1, column 9: …".
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws JsonError. The caller bounds the text's size.
Json parse_json(std::string_view text);

}  // namespace mnistd::api
