#include "model/digest.h"

#include <bit>
#include <cstring>

namespace mnistd::model {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;
constexpr std::size_t kStripe = 32;  // a word for each of the four lanes

template <class Word>
Word take(const std::byte*& from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  from += sizeof word;
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

}  // namespace

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::byte* next = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = seed + kPrime5;
  if (left >= kStripe) {
    std::uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; left >= kStripe; left -= kStripe) {
      a = round(a, take<std::uint64_t>(next));
      b = round(b, take<std::uint64_t>(next));
      c = round(c, take<std::uint64_t>(next));
      d = round(d, take<std::uint64_t>(next));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    for (const std::uint64_t lane : {a, b, c, d}) hash = merge(hash, lane);
  }
  hash += bytes.size();
  for (; left >= 8; left -= 8)
    hash = std::rotl(hash ^ round(0, take<std::uint64_t>(next)), 27) * kPrime1 + kPrime4;
  for (; left >= 4; left -= 4)
    hash = std::rotl(hash ^ take<std::uint32_t>(next) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; left > 0; --left) hash = std::rotl(hash ^ take<std::uint8_t>(next) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

std::string digest_text(std::uint64_t digest) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text.push_back("0123456789abcdef"[digest >> shift & 15]);
  return text;
}

}  // namespace mnistd::model
