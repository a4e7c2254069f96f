#include "gpu/cpu/gram_build.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "gpu/cpu/aligned_array.h"
#include "gpu/cpu/reference_ops.h"
#include "gpu/cpu/simd_gram_build.h"

namespace mnistd::gpu::cpu {
namespace {

struct Member {
  AlignedArray<GramTile> tile;
  AlignedArray<GramSums> sums;
  int images = 0;  // in the sums
};

void clear(Member& member) {
  std::memset(member.sums.data(), 0, sizeof(GramSums));
  member.images = 0;
}

// Adds the products of four rows to the lower triangle.
void add_rows(const GramSums& sums, std::size_t block, std::uint64_t* products) {
  const std::size_t columns = gram_build_columns();
  for (std::size_t row = 0; row < kGramRows; ++row) {
    const std::size_t a = kGramRows * block + row;
    for (std::size_t begin = 0; begin <= a; begin += columns) {
      const std::uint32_t* from = sums.products[block] + kGramRows * begin + columns * row;
      std::uint64_t* to = products + kFeatures * a + begin;
      const std::size_t count = std::min(columns, a + 1 - begin);
      for (std::size_t k = 0; k < count; ++k) to[k] += from[k];
    }
  }
}

void add_classes(const GramSums& sums, std::uint64_t* class_sums) {
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t p = 0; p < kPixels; ++p) class_sums[kFeatures * c + p] += sums.class_sums[c][p];
  }
}

void add_all(const GramSums& sums, std::uint64_t* products, std::uint64_t* class_sums) {
  for (std::size_t block = 0; block < kGramRowBlocks; ++block) add_rows(sums, block, products);
  add_classes(sums, class_sums);
}

}  // namespace

void build_gram(ThreadTeam& team, const LabelledImages& images, std::uint64_t* products,
                std::uint64_t* class_sums) {
  require_images(images.count);
  std::fill_n(products, kFeatures * kFeatures, 0);
  std::fill_n(class_sums, kClasses * kFeatures, 0);
  std::vector<Member> members(static_cast<std::size_t>(team.size()));
  std::mutex result;
  const std::size_t count = static_cast<std::size_t>(images.count);
  team.run((count + kGramTileImages - 1) / kGramTileImages, [&](std::size_t task, int number) {
    Member& member = members[static_cast<std::size_t>(number)];
    if (member.sums.size() == 0) {
      member.tile = AlignedArray<GramTile>(1);
      member.sums = AlignedArray<GramSums>(1);
      clear(member);
    }
    const std::size_t first = task * kGramTileImages;
    const int of_tile = static_cast<int>(std::min<std::size_t>(kGramTileImages, count - first));
    if (member.images + of_tile > kGramMostImages) {
      const std::lock_guard lock(result);
      add_all(*member.sums.data(), products, class_sums);
      clear(member);
    }
    const std::uint8_t* pixels = images.pixels + kPixels * first;
    lay_out_pairs(pixels, of_tile, member.tile.data());
    add_products(*member.tile.data(), member.sums.data());
    add_class_sums(pixels, images.labels + first, of_tile, member.sums.data());
    member.images += of_tile;
  });
  team.run(kGramRowBlocks, [&](std::size_t block, int) {
    for (const Member& member : members) {
      if (member.images > 0) add_rows(*member.sums.data(), block, products);
    }
  });
  for (const Member& member : members) {
    if (member.images > 0) add_classes(*member.sums.data(), class_sums);
  }

  for (std::size_t i = 0; i < count; ++i) ++class_sums[kFeatures * images.labels[i] + kPixels];
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t a = 0; a < kFeatures; ++a)
      products[kFeatures * kPixels + a] += class_sums[kFeatures * c + a];
  }
  for (std::size_t a = 0; a < kFeatures; ++a) {
    for (std::size_t b = 0; b < a; ++b) products[kFeatures * b + a] = products[kFeatures * a + b];
  }
}

}  // namespace mnistd::gpu::cpu
