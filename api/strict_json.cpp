#include "api/strict_json.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

namespace mnistd::api {
namespace {

// Walks the text and leaves behind how far the parser has read, which SAX events don't tell.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  TrackedIterator operator++(int) {
    TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

std::string place(std::string_view text, std::size_t offset) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < std::min(offset, text.size()); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++column;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …" → "syntax error …"
std::string plain_words(const std::string& message) {
  const std::size_t colon = message.find(": ");
  if (message.starts_with("[json.exception.parse_error") && colon != std::string::npos)
    return message.substr(colon + 2);
  const std::size_t bracket = message.find("] ");
  return message.starts_with('[') && bracket != std::string::npos ? message.substr(bracket + 2) : message;
}

class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const char* const* reached) : text_(text), reached_(reached) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { fail("binary values are no JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& value) override {
    if (!open_.back().keys.insert(value).second) fail("the key \"" + value + "\" is there twice");
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail(plain_words(error.what()));
  }

 private:
  struct Level {
    Json* container;  // stays in place: no ancestor grows while a descendant is open
    std::string key = {};
    std::unordered_set<std::string> keys = {};
  };

  [[noreturn]] void fail(const std::string& message) const {
    const auto read = static_cast<std::size_t>(*reached_ - text_.data());
    throw JsonError(place(text_, read == 0 ? 0 : read - 1) + message);
  }
  Json* put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = open_.back();
    if (level.container->is_array()) {
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    return &((*level.container)[level.key] = std::move(value));
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() >= kJsonDepth)
      fail("values are nested more than " + std::to_string(kJsonDepth) + " deep");
    open_.push_back({put(std::move(value))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const char* const* reached_;
  Json root_;
  std::vector<Level> open_;
};

}  // namespace

Json parse_json(std::string_view text) {
  // nlohmann takes a NUL for the end and passes over a BOM.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    throw JsonError(place(text, nul) + "a NUL byte; JSON has none, in strings it is written \\u0000");
  if (text.starts_with("\xEF\xBB\xBF"))
    throw JsonError(place(text, 0) + "a byte order mark (BOM); send UTF-8 without one");
  const char* reached = text.data();
  Builder builder(text, &reached);
  const TrackedIterator begin(text.data(), &reached), end(text.data() + text.size(), &reached);
  Json::sax_parse(begin, end, &builder, Json::input_format_t::json, true);
  return builder.take();
}

}  // namespace mnistd::api
