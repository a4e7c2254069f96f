#include "api/request_head.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "api/problem.h"

namespace mnistd::api {
namespace {

constexpr std::string_view kMethods[] = {"GET",    "HEAD",  "POST",    "PUT",    "PATCH",
                                         "DELETE", "TRACE", "OPTIONS", "CONNECT"};

[[noreturn]] void malformed(const std::string& detail) { refuse(400, "invalid-request", detail); }

bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || others.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

// Of text from outside that goes into a message.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 100)) result += c >= 0x20 && c < 0x7F ? c : '?';
  return result;
}

class HeadParser {
 public:
  explicit HeadParser(std::string_view head) : rest_(head) {}

  RequestHead parse() {
    read_request_line(next_line());
    for (std::string_view line = next_line(); !line.empty(); line = next_line()) read_header(line);
    check_host();
    check_framing();
    check_encoding();
    read_connection();
    return write();
  }

 private:
  using Header = std::pair<std::string, std::string>;  // the name in lower case

  std::string_view next_line() {
    const std::size_t end = rest_.find("\r\n");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(line.size() + 2, rest_.size()));
    return line;
  }

  void read_request_line(std::string_view line) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos ||
        line.find(' ', second + 1) != std::string_view::npos || !is_token(line.substr(0, first)))
      malformed("The request line must be a method, an address and HTTP/1.1, a space between them; found: " +
                shown(line));
    head_.method = line.substr(0, first);
    version_ = line.substr(second + 1);
    if (version_ != "HTTP/1.1" && version_ != "HTTP/1.0") {
      if (version_.size() == 8 && version_.starts_with("HTTP/") && version_[6] == '.')
        refuse(505, "unsupported-version", "HTTP/1.1 is spoken here, not " + shown(version_) + ".");
      malformed("The request line must end with HTTP/1.1; found: " + shown(version_));
    }
    if (std::find(std::begin(kMethods), std::end(kMethods), head_.method) == std::end(kMethods))
      refuse(501, "unsupported-method",
             "The method " + shown(head_.method) + " is not known here. Methods are written in capitals.");
    read_target(line.substr(first + 1, second - first - 1));
  }

  // A path, an address with http:// and a host (as to a proxy), or * for OPTIONS.
  void read_target(std::string_view target) {
    if (target.size() > kTargetBytes)
      refuse(414, "uri-too-long", "The address is longer than 8192 bytes; send pixels in a body.");
    if (std::any_of(target.begin(), target.end(), [](unsigned char c) { return c < 0x21 || c == 0x7F; }))
      malformed("The address holds a control character; write it as % and two hex digits.");
    const std::string start = lower(target.substr(0, 8));
    const std::size_t scheme = start == "https://" ? 8 : start.starts_with("http://") ? 7 : 0;
    if (scheme > 0) {
      target.remove_prefix(scheme);
      const std::size_t end = std::min(target.find_first_of("/?#"), target.size());
      authority_ = target.substr(0, end);
      target.remove_prefix(end);
      if (authority_.empty()) malformed("The address has no host after its scheme.");
      if (!target.starts_with('/')) target_ = "/";
    } else if (!target.starts_with('/') && head_.method != "CONNECT" &&
               !(target == "*" && head_.method == "OPTIONS")) {
      malformed("The address must begin with / or http://; found: " + shown(target));
    }
    target = target.substr(0, target.find('#'));
    const std::size_t mark = target.find('?');
    for (std::size_t i = 0; i < target.size();
         ++i)  // httplib takes no second ?, though it is an ordinary letter there
      target_ += target[i] == '?' && i > mark ? std::string("%3F") : std::string(1, target[i]);
  }

  void read_header(std::string_view line) {
    if (headers_.size() >= kHeaders)
      refuse(431, "headers-too-large",
             "There are more than " + std::to_string(kHeaders) + " headers, the most that are taken.");
    if (line.size() > kHeaderLineBytes)
      refuse(431, "headers-too-large",
             "The header " + shown(line.substr(0, line.find(':'))) + " is longer than 8192 bytes.");
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
      malformed("A header line must be a name, a colon right after it, and a value, on one line; found: " +
                shown(line));
    const std::string_view value = trim(line.substr(colon + 1));
    if (std::any_of(value.begin(), value.end(),
                    [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; }))
      malformed("The header " + shown(line.substr(0, colon)) + " holds a control character.");
    headers_.emplace_back(lower(line.substr(0, colon)), value);
  }

  std::vector<std::string_view> values_of(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const Header& header : headers_)
      if (header.first == name) values.push_back(header.second);
    return values;
  }

  void check_host() {
    const auto hosts = values_of("host");
    if (hosts.size() > 1) malformed("The Host header is there more than once.");
    if (hosts.empty() && version_ == "HTTP/1.1")
      malformed("The Host header is missing; HTTP/1.1 asks for one.");
    if (authority_.empty() && !hosts.empty()) authority_ = hosts.front();
    if (authority_.find_first_of(" \t/?#@\\,") != std::string::npos)
      malformed("The host is no name or address with an optional port: " + shown(authority_));
    std::erase_if(headers_, [](const Header& header) { return header.first == "host"; });
    if (!authority_.empty()) headers_.emplace_back("host", authority_);
  }

  void check_framing() {
    const auto lengths = values_of("content-length"), codings = values_of("transfer-encoding");
    if (!codings.empty()) {
      if (!lengths.empty() || codings.size() > 1 || lower(codings.front()) != "chunked" ||
          version_ != "HTTP/1.1")
        malformed("No Transfer-Encoding is taken here; send the body with a Content-Length.");
      refuse(411, "length-required",
             "Chunked bodies are not taken here; send the body with a Content-Length (curl: --data-binary "
             "@FILE in "
             "place of -T, and no Transfer-Encoding header).");
    }
    if (lengths.empty()) return;
    if (lengths.size() > 1 || !is_digits(lengths.front()) || lengths.front().size() > 18)
      malformed("The Content-Length header must be there once and be a number of bytes, in digits.");
    head_.body_bytes = std::stoull(std::string(lengths.front()));
  }

  void check_encoding() const {
    for (const std::string_view coding : values_of("content-encoding"))
      if (!coding.empty() && lower(coding) != "identity")
        refuse(415, "unsupported-type",
               "The Content-Encoding " + shown(coding) + " is not taken here; send the body as it is.");
  }

  void read_connection() {
    head_.keep_alive = version_ == "HTTP/1.1";
    for (const std::string_view value : values_of("connection"))
      for (std::string rest = lower(value) + ","; !rest.empty(); rest.erase(0, rest.find(',') + 1))
        if (trim(std::string_view(rest).substr(0, rest.find(','))) == "close") head_.keep_alive = false;
  }

  RequestHead write() {
    head_.bytes = head_.method + " " + target_ + " " + version_ + "\r\n";
    for (const auto& [name, value] : headers_)
      if (!value.empty()) head_.bytes += name + ": " + value + "\r\n";
    head_.bytes += "\r\n";
    return std::move(head_);
  }

  std::string_view rest_;
  RequestHead head_;
  std::string version_, target_, authority_;
  std::vector<Header> headers_;
};

}  // namespace

std::optional<std::size_t> find_head_end(std::string_view received, std::size_t seen) {
  const std::size_t line = received.find('\n');
  if (std::min(line, received.size()) > kTargetBytes + 64)
    refuse(414, "uri-too-long", "The address is longer than 8192 bytes; send pixels in a body.");
  for (std::size_t end = received.find('\n', seen); end != std::string_view::npos;
       end = received.find('\n', end + 1)) {
    if (end == 0 || received[end - 1] != '\r')
      malformed("The lines of a request must end with CR LF; found a lone LF.");
    if (end >= 3 && received.substr(end - 3, 4) == "\r\n\r\n") return end + 1;
    if (end > kHeadBytes) break;
  }
  if (received.size() > kHeadBytes)
    refuse(431, "headers-too-large",
           "The headers are longer than " + std::to_string(kHeadBytes) + " bytes together.");
  return std::nullopt;
}

RequestHead parse_head(std::string_view head) { return HeadParser(head).parse(); }

}  // namespace mnistd::api
