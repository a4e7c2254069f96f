// Bytes that a cache may keep: with what they are, of which dataset, and a digest of it all, so that a file that is cut
// off, damaged, of another version or of other data is told from a good one. Made for files that can be made again: whoever
// finds one broken makes a new one.
//
//   8 bytes   what it is, such as "mnd.gram"
//   8         version and payload bytes, 4 each
//   16        digest of the dataset, see dataset.h
//   …         the payload: 8-byte words, little-endian
//   8         XXH64 of all before
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mnistd::model {

class SealError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Seal {
  std::string_view what;  // 8 characters
  std::uint32_t version = 1;
  std::string_view dataset_digest;  // 16 characters
};

std::string sealed(const Seal& seal, std::initializer_list<std::span<const std::byte>> payload);

// The payload, which is part of `bytes`. Throws SealError unless the seal is this one and whole.
std::string_view unsealed(std::string_view bytes, const Seal& seal);

}  // namespace mnistd::model
