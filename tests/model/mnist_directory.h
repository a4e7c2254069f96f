// Where the real MNIST files are: MNISTD_MNIST, else data/mnist of the source tree.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace mnistd::test {

inline std::filesystem::path mnist_directory() {
  const char* const named = std::getenv("MNISTD_MNIST");
  return named != nullptr && *named != '\0' ? named : MNISTD_MNIST_DIR;
}

}  // namespace mnistd::test
