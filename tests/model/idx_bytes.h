// IDX files for tests, made byte by byte and without the code under test, and a directory to put them in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/idx_file.h"

namespace mnistd::test {

// A directory of its own, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

std::string idx_bytes(std::uint8_t type, const std::vector<std::uint32_t>& dimensions,
                      const std::string& values);
std::string image_bytes(std::uint32_t count, std::uint32_t rows = 28,
                        std::uint32_t columns = 28);        // values i mod 251
std::string label_bytes(std::uint32_t count);               // labels i mod 10
std::string gzip(const std::string& bytes, int level = 6);  // one member

// The message of the DatasetError that `call` throws; empty where it throws none.
template <class Call>
std::string dataset_error(Call&& call) {
  try {
    call();
  } catch (const model::DatasetError& error) {
    return error.what();
  }
  return {};
}

}  // namespace mnistd::test
