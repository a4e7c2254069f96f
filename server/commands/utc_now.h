// When a page was printed.
#pragma once

#include <string>

namespace mnistd::commands {

// RFC 3339 in UTC, whole seconds.
std::string utc_now();

}  // namespace mnistd::commands
