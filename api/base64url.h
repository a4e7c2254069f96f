// Base64 with the alphabet for addresses (RFC 4648 §5), read with or without padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mnistd::api {

// Nothing where a character is not of the alphabet, the length can't be, or bits are left over that are not zero.
std::optional<std::string> decode_base64url(std::string_view text);
std::string encode_base64url(std::string_view bytes);  // without padding

}  // namespace mnistd::api
