#include "api/accept.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace mnistd::api {
namespace {

struct Range {
  std::string type;  // "text/csv", "text/*", "*/*", lower case
  int thousandths;   // of q
  int precision() const { return type == "*/*" ? 0 : type.ends_with("/*") ? 1 : 2; }
  bool covers(std::string_view offered) const {
    if (type == "*/*") return true;
    if (type.ends_with("/*")) return offered.starts_with(std::string_view(type).substr(0, type.size() - 1));
    return offered == type;
  }
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "0.25" → 250; what is no qvalue counts as 1, as leniently as browsers do.
int thousandths_of(std::string_view q) {
  if (q.empty() || (q[0] != '0' && q[0] != '1') || (q.size() > 1 && q[1] != '.')) return 1000;
  int value = (q[0] - '0') * 1000, unit = 100;
  for (std::size_t i = 2; i < q.size() && i < 5; ++i, unit /= 10) {
    if (q[i] < '0' || q[i] > '9') return 1000;
    value += (q[i] - '0') * unit;
  }
  return std::min(value, 1000);
}

std::vector<Range> parse(std::string_view accept) {
  std::vector<Range> ranges;
  while (!accept.empty() && ranges.size() < 64) {
    const std::size_t comma = accept.find(',');
    std::string_view item = accept.substr(0, comma);
    accept = comma == std::string_view::npos ? std::string_view() : accept.substr(comma + 1);
    const std::size_t semicolon = item.find(';');
    Range range{std::string(trim(item.substr(0, semicolon))), 1000};
    std::transform(range.type.begin(), range.type.end(), range.type.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    while (item.find(';') != std::string_view::npos) {
      item = item.substr(item.find(';') + 1);
      const std::string_view parameter = trim(item.substr(0, item.find(';')));
      if (parameter.starts_with("q=") || parameter.starts_with("Q="))
        range.thousandths = thousandths_of(parameter.substr(2));
    }
    if (range.type.find('/') != std::string::npos) ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace

std::string_view negotiate(std::string_view accept, std::initializer_list<std::string_view> offered) {
  const std::vector<Range> ranges = parse(accept);
  if (ranges.empty()) return *offered.begin();
  std::string_view best;
  int best_quality = 0;
  for (const std::string_view type : offered) {
    int quality = 0, precision = -1;
    for (const Range& range : ranges) {
      if (!range.covers(type) || range.precision() <= precision) continue;
      precision = range.precision();
      quality = range.thousandths;
    }
    if (quality > best_quality) {
      best = type;
      best_quality = quality;
    }
  }
  return best;
}

}  // namespace mnistd::api
