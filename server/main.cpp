// The composition root: everything that stands above server/ starts here (the commands beside it are its parts).
#include <csignal>
#include <exception>
#include <iostream>

#include "server/commands/command_line.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reached its limit is an error of the write, with a message
  try {
    return mnistd::commands::run_command_line({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "mnistd: " << error.what() << '\n';
    return 1;
  }
}
