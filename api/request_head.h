// The head of a request, read to the letter of RFC 9112, before httplib sees it.
//
// httplib 0.11 passes over what it cannot read: a header line without CRLF, an empty Content-Length, a space before the
// colon. Each of these takes a request's body away from it, and a job with the defaults is queued in place of the one
// that was asked for; with a body that looks like a request, somebody else's request is made up. Here such a head is
// refused, and httplib gets one that was written anew, which can be read in one way only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mnistd::api {

inline constexpr std::size_t kTargetBytes = 8192, kHeaderLineBytes = 8192;
inline constexpr std::size_t kHeaders = 100, kHeadBytes = 64 * 1024;

struct RequestHead {
  std::string method;
  // For httplib: the target as a path and query (or *), one Host, every line ended by CRLF.
  std::string bytes;
  std::uint64_t body_bytes = 0;
  bool keep_alive = true;  // what the client wishes
};

// Where the head ends in what was received: the place after the blank line, or nothing while more is to come. Looks only
// at what is new since `seen` bytes. Throws Refusal for a line that is not ended by CRLF and for what is too large.
std::optional<std::size_t> find_head_end(std::string_view received, std::size_t seen);

// `head` is one with its blank line. Throws Refusal: 400 for what breaks the grammar or frames the body in two ways, 411 for
// chunked bodies, 414 and 431 for what is too long, 415 for a Content-Encoding, 501 for unknown methods, 505 for versions.
RequestHead parse_head(std::string_view head);

}  // namespace mnistd::api
