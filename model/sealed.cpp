#include "model/sealed.h"

#include <cstdint>
#include <cstring>

#include "model/digest.h"

namespace mnistd::model {
namespace {

constexpr std::size_t kWhat = 8, kDataset = 16, kDigest = 8;
constexpr std::size_t kHeader = kWhat + 2 * sizeof(std::uint32_t) + kDataset;

void append(std::string& bytes, const void* from, std::size_t count) {
  bytes.append(static_cast<const char*>(from), count);
}

template <class Word>
Word word_at(std::string_view bytes, std::size_t offset) {
  Word word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

std::uint64_t digest_of(std::string_view bytes) {
  return digest(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

void check(const Seal& seal) {
  if (seal.what.size() != kWhat || seal.dataset_digest.size() != kDataset)
    throw std::invalid_argument("a seal names 8 characters of what it is and 16 of a dataset's digest");
}

}  // namespace

std::string sealed(const Seal& seal, std::initializer_list<std::span<const std::byte>> payload) {
  check(seal);
  std::uint32_t size = 0;
  for (const auto& part : payload) size += static_cast<std::uint32_t>(part.size());
  std::string bytes;
  bytes.reserve(kHeader + size + kDigest);
  bytes += seal.what;
  append(bytes, &seal.version, sizeof seal.version);
  append(bytes, &size, sizeof size);
  bytes += seal.dataset_digest;
  for (const auto& part : payload) append(bytes, part.data(), part.size());
  const std::uint64_t digest = digest_of(bytes);
  append(bytes, &digest, sizeof digest);
  return bytes;
}

std::string_view unsealed(std::string_view bytes, const Seal& seal) {
  check(seal);
  if (bytes.size() < kHeader + kDigest)
    throw SealError("holds " + std::to_string(bytes.size()) + " bytes, too few");
  if (bytes.substr(0, kWhat) != seal.what) throw SealError("is no " + std::string(seal.what));
  if (const auto version = word_at<std::uint32_t>(bytes, kWhat); version != seal.version)
    throw SealError("is of version " + std::to_string(version) + "; expected " +
                    std::to_string(seal.version));
  const std::size_t size = word_at<std::uint32_t>(bytes, kWhat + sizeof(std::uint32_t));
  if (bytes.size() != kHeader + size + kDigest)
    throw SealError("holds " + std::to_string(bytes.size()) + " bytes; expected " +
                    std::to_string(kHeader + size + kDigest));
  const std::string_view sum = bytes.substr(0, kHeader + size);
  if (digest_of(sum) != word_at<std::uint64_t>(bytes, kHeader + size))
    throw SealError("is damaged: its digest is another");
  if (bytes.substr(kHeader - kDataset, kDataset) != seal.dataset_digest)
    throw SealError("is of another dataset");
  return bytes.substr(kHeader, size);
}

}  // namespace mnistd::model
