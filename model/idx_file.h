// IDX, the format of the MNIST files: a 4-byte magic (0, 0, type, number of dimensions), the dimensions as big-endian
// uint32, then the values. Read raw or gzip, told by the bytes and not by the name.
// Source: the format note of the MNIST database; RFC 1952 for gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace mnistd::model {

// A dataset file is missing or is not what it should be. The message names the file, what was found, and what was
// expected or what to do.
class DatasetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct IdxFile {
  std::vector<std::uint32_t> dimensions;
  std::vector<std::uint8_t> values;  // exactly the product of the dimensions
};

// Reads an IDX file of unsigned bytes with `dimensions` dimensions. Throws DatasetError on anything else: an unreadable
// or empty file, a damaged gzip stream, a wrong magic (with a hint when the file looks like HTML or like the other kind
// of IDX file), a length that does not match the dimensions, trailing bytes.
IdxFile read_idx(const std::filesystem::path& file, int dimensions);

// The path in `directory` of, for example, stem "train-images" with 3 dimensions: train-images-idx3-ubyte or
// train-images.idx3-ubyte, each also with .gz, in this order. Throws DatasetError naming what was looked for.
std::filesystem::path find_idx(const std::filesystem::path& directory, const std::string& stem,
                               int dimensions);

}  // namespace mnistd::model
