// CHECK(text == Contains("part")), with both in the message where it fails.
#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace mnistd::test {

struct Contains {
  explicit Contains(std::string wanted) : part(std::move(wanted)) {}
  std::string part;
};

inline bool operator==(const std::string& text, const Contains& contains) {
  return text.find(contains.part) != std::string::npos;
}

inline std::ostream& operator<<(std::ostream& out, const Contains& contains) {
  return out << "a text with \"" << contains.part << '"';
}

}  // namespace mnistd::test
