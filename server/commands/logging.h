// Where the program's log goes: stderr, as text for people or as one JSON object a line for collectors.
#pragma once

#include <string>

namespace mnistd::commands {

// Sets spdlog's default logger. `level`: trace, debug, info, warning, error; `format`: text, json.
void set_up_logging(const std::string& level, const std::string& format);

}  // namespace mnistd::commands
