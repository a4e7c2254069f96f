// The composition root: everything that stands above server/ starts here (the commands beside it are its parts).
#include <exception>
#include <iostream>

#include "server/commands/command_line.h"

int main(int argc, char** argv) {
  try {
    return mnistd::commands::run_command_line({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "mnistd: " << error.what() << '\n';
    return 1;
  }
}
