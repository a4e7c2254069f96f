// The bytes of a file, inflated where the file is gzip: told by its first two bytes and not by its name.
// Source: RFC 1952; a gzip file may hold several members, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace mnistd::model {

// One thread. Every function throws DatasetError (see idx_file.h) naming the file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `destination` and returns its size, or fewer where the bytes end. Reading up to the end (a return of fewer
  // bytes than asked for) also checks the sums that gzip keeps.
  virtual std::size_t read(std::span<std::uint8_t> destination) = 0;

  // No more than this is left. Exact for a raw file; for gzip the most that deflate can have packed into the rest.
  virtual std::uint64_t at_most_left() const = 0;

  // Whether at_most_left is exact.
  virtual bool is_raw() const = 0;
};

// Opens a regular file.
std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& file);

}  // namespace mnistd::model
