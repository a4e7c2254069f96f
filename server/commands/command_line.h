// Reads the command line (and, for serve, MNISTD_* variables and a TOML file) into the commands' options.
#pragma once

#include <string>
#include <vector>

#include "server/commands/commands.h"

namespace mnistd::commands {

// Runs the command that `arguments` (without the program's name) ask for; gives the exit code.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace mnistd::commands
