#include "model/digest.h"

#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace mnistd;

namespace {

std::vector<std::byte> pattern(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i * i + 7 * i) % 251);
  return bytes;
}

struct Expected {
  std::size_t count;
  std::uint64_t without_seed, with_seed;
};

}  // namespace

TEST_CASE("digests are XXH64, at every length around its words and stripes") {
  // Computed by the xxHash library, version 0.8.1; the seed is the largest.
  const std::vector<Expected> table = {
      {0, 0xef46db3751d8e999, 0x298f4c84b24f5380},    {1, 0xe934a84adb052768, 0x8ba3328805e37c90},
      {3, 0xbb3a592908a981a8, 0xdda711ba793ebd82},    {4, 0x798a8b758de10b9c, 0x1ab450a85d5d705e},
      {7, 0xc524fe6186d68234, 0xcae5a5015c7a9bca},    {8, 0x628b254fd17d4862, 0x7df982729d203e3d},
      {31, 0x7d36fafd7e8f54d5, 0x833e692d66edeb56},   {32, 0x8ca809248427ab85, 0xe98c5dbb224eae29},
      {33, 0x701316fef6f836d3, 0xb21401b0636752be},   {63, 0xabdc7bc152c8c7f4, 0x152d38408b50860a},
      {64, 0x134758ba0f580486, 0xca1bfcd922d4b8a7},   {100, 0x3553324796eea83a, 0xc6eaabf81b208b9c},
      {1000, 0xe83f2963bc234754, 0x05d244a61d32ba47}, {4099, 0x1f0ce71494771309, 0xbb34089d144f17dc},
  };
  for (const Expected& expected : table) {
    CAPTURE(expected.count);
    CHECK(model::digest(pattern(expected.count)) == expected.without_seed);
    CHECK(model::digest(pattern(expected.count), std::numeric_limits<std::uint64_t>::max()) ==
          expected.with_seed);
  }
}

TEST_CASE("a digest as text keeps its leading zeros") {
  CHECK(model::digest_text(0) == "0000000000000000");
  CHECK(model::digest_text(0x05d244a61d32ba47) == "05d244a61d32ba47");
}
