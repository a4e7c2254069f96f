// Content negotiation (RFC 9110 §12.5.1), as much of it as a few fixed representations need.
#pragma once

#include <initializer_list>
#include <string_view>

namespace mnistd::api {

// The type that the Accept header likes best; of equals the first offered, which should be what a client that doesn't care
// gets. An empty header accepts all. Empty where none is acceptable.
std::string_view negotiate(std::string_view accept, std::initializer_list<std::string_view> offered);

}  // namespace mnistd::api
