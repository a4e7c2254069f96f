#include "gpu/cpu/simd_ops.h"

#include <algorithm>

#include "gpu/cpu/gram_build.h"
#include "gpu/cpu/task_rounds.h"

namespace mnistd::gpu::cpu {
namespace {

constexpr std::size_t kGradientFloats = std::size_t{kClasses} * kRowFloats;

std::size_t chunks_of(int images) {
  return (static_cast<std::size_t>(images) + kChunkImages - 1) / kChunkImages;
}

// Between the class-major scores of a tile and rows of ten.
void to_rows(const float* tile, int count, float* rows) {
  for (int i = 0; i < count; ++i) {
    for (int c = 0; c < kClasses; ++c) rows[kClasses * i + c] = tile[kTileImages * c + i];
  }
}

void from_rows(const float* rows, int count, float* tile) {
  for (int i = 0; i < count; ++i) {
    for (int c = 0; c < kClasses; ++c) tile[kTileImages * c + i] = rows[kClasses * i + c];
  }
}

void step_of(int count, float rate, const float* gradient, float* weights) {
  for (int i = 0; i < count; ++i) {
    weights[i] = static_cast<float>(weights[i] - static_cast<double>(rate) * gradient[i]);
  }
}

}  // namespace

struct SimdOps::Tile {
  std::size_t first;  // image
  int count;
};

SimdOps::SimdOps(int threads)
    : team_(threads),
      scratch_(static_cast<std::size_t>(threads)),
      weights_(kGradientFloats),
      gradient_(kWeights) {
  for (Scratch& scratch : scratch_) {
    scratch.scores = AlignedArray<float>(kTileScores);
  }
  std::fill_n(weights_.data(), weights_.size(), 0.0f);
}

std::uint64_t SimdOps::scratch_bytes() const {
  return weights_.bytes() + gradient_.bytes() + gradients_.bytes() + sums_.bytes() + ink_.bytes() +
         gram_descent_.bytes() + scratch_.size() * (sizeof(Scratch) + kTileScores * sizeof(float));
}

void SimdOps::pack(int c, const float* from) {
  float* to = weights_.data() + kRowFloats * c;
  for (int p = 0; p < kPixels; ++p) to[p] = static_cast<float>(from[p] / 255.0);
  biases_[c] = from[kPixels];
}

void SimdOps::pack(const float* weights) {
  for (int c = 0; c < kClasses; ++c) pack(c, weights + kFeatures * c);
}

std::size_t SimdOps::prepare_chunks(int count, bool with_gradients) {
  const std::size_t chunks = chunks_of(count);
  if (sums_.size() < chunks) sums_ = AlignedArray<ChunkSums>(chunks);
  if (with_gradients && gradients_.size() < chunks * kGradientFloats) {
    gradients_ = AlignedArray<float>(chunks * kGradientFloats);
  }
  return chunks;
}

// Calls function(tile) for the tiles of a chunk, in order.
template <class Function>
void SimdOps::for_each_tile(std::size_t chunk, int count, Function&& function) {
  const std::size_t begin = chunk * kChunkImages;
  const std::size_t end = std::min<std::size_t>(begin + kChunkImages, static_cast<std::size_t>(count));
  for (std::size_t first = begin; first < end; first += kTileImages) {
    function(Tile{first, static_cast<int>(std::min<std::size_t>(kTileImages, end - first))});
  }
}

void SimdOps::scores_of(const Tile& tile, const LabelledImages& images, const TileInk& ink,
                        Scratch& scratch) {
  forward_tile(images.pixels + tile.first * kPixels, images.pixels + std::size_t{kPixels} * images.count,
               tile.count, ink, weights_.data(), biases_, scratch.scores.data());
}

void SimdOps::collect(std::size_t chunks, PassStatistics* statistics) const {
  *statistics = PassStatistics{};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    statistics->squared_residual += sums_.data()[chunk].sums.squared_residual;
    statistics->correct += sums_.data()[chunk].sums.correct;
  }
}

void SimdOps::collect_gradient(int c, std::size_t chunks, int count, float* gradient_of_class) const {
  sum_parts(gradients_.data() + c * kRowFloats, chunks, kGradientFloats, 2.0 / 255.0 / count,
            gradient_of_class);
  double bias = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) bias += sums_.data()[chunk].sums.residual[c];
  gradient_of_class[kPixels] = static_cast<float>(2.0 * bias / count);
}

void SimdOps::initialise(float* weights, std::uint32_t seed) { plain_.initialise(weights, seed); }

void SimdOps::step(float* weights, const float* gradient, float rate) {
  step_of(kWeights, rate, gradient, weights);
}

void SimdOps::residual(const LabelledImages& images, const float* weights, float* residual,
                       PassStatistics* statistics) {
  require_images(images.count);
  pack(weights);
  const std::size_t chunks = prepare_chunks(images.count, false);
  team_.run(chunks, [&](std::size_t chunk, int member) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    TileSums& sums = sums_.data()[chunk].sums = {};
    for_each_tile(chunk, images.count, [&](const Tile& tile) {
      find_ink(images.pixels + tile.first * kPixels, tile.count, &scratch.ink);
      scores_of(tile, images, scratch.ink, scratch);
      subtract_labels(images.labels + tile.first, tile.count, scratch.scores.data(), &sums);
      to_rows(scratch.scores.data(), tile.count, residual + tile.first * kClasses);
    });
  });
  collect(chunks, statistics);
}

void SimdOps::gradient(const LabelledImages& images, const float* residual, float* gradient) {
  require_images(images.count);
  const std::size_t chunks = prepare_chunks(images.count, true);
  team_.run(chunks, [&](std::size_t chunk, int member) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    TileSums& sums = sums_.data()[chunk].sums = {};
    float* partial = gradients_.data() + chunk * kGradientFloats;
    std::fill_n(partial, kGradientFloats, 0.0f);
    for_each_tile(chunk, images.count, [&](const Tile& tile) {
      const std::uint8_t* pixels = images.pixels + tile.first * kPixels;
      const float* rows = residual + tile.first * kClasses;
      find_ink(pixels, tile.count, &scratch.ink);
      from_rows(rows, tile.count, scratch.scores.data());
      backward_tile(pixels, scratch.ink, scratch.scores.data(), partial);
      for (int k = 0; k < kClasses * tile.count; ++k) sums.residual[k % kClasses] += rows[k];
    });
  });
  team_.run(kClasses, [&](std::size_t c, int) {
    collect_gradient(static_cast<int>(c), chunks, images.count, gradient + c * kFeatures);
  });
}

// ink_of(tile): its ink.
template <class InkOf>
void SimdOps::loss_and_gradient_of(std::size_t chunk, const LabelledImages& images, Scratch& scratch,
                                   InkOf&& ink_of) {
  TileSums& sums = sums_.data()[chunk].sums = {};
  float* partial = gradients_.data() + chunk * kGradientFloats;
  std::fill_n(partial, kGradientFloats, 0.0f);
  for_each_tile(chunk, images.count, [&](const Tile& tile) {
    const TileInk& ink = ink_of(tile);
    scores_of(tile, images, ink, scratch);
    subtract_labels(images.labels + tile.first, tile.count, scratch.scores.data(), &sums);
    backward_tile(images.pixels + tile.first * kPixels, ink, scratch.scores.data(), partial);
  });
}

void SimdOps::loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                                PassStatistics* statistics) {
  require_images(images.count);
  pack(weights);
  const std::size_t chunks = prepare_chunks(images.count, true);
  team_.run(chunks, [&](std::size_t chunk, int member) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    loss_and_gradient_of(chunk, images, scratch, [&](const Tile& tile) -> const TileInk& {
      find_ink(images.pixels + tile.first * kPixels, tile.count, &scratch.ink);
      return scratch.ink;
    });
  });
  team_.run(kClasses, [&](std::size_t c, int) {
    collect_gradient(static_cast<int>(c), chunks, images.count, gradient + c * kFeatures);
  });
  collect(chunks, statistics);
}

void SimdOps::descend(const LabelledImages& images, float* weights, float rate, int count,
                      PassStatistics* statistics) {
  require_images(images.count);
  pack(weights);
  const std::size_t chunks = prepare_chunks(images.count, true);
  const std::size_t tiles = chunks * (kChunkImages / kTileImages);
  if (ink_.size() < tiles) ink_ = AlignedArray<TileInk>(tiles);
  TaskRounds rounds(2 * static_cast<std::uint32_t>(count), {static_cast<std::uint32_t>(chunks), kClasses},
                    team_.size());
  team_.run(static_cast<std::size_t>(team_.size()), [&](std::size_t, int member) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    rounds.take_part(member, [&](std::uint32_t round, std::uint32_t task) {
      if (round % 2 == 0) {
        return loss_and_gradient_of(task, images, scratch, [&](const Tile& tile) -> const TileInk& {
          TileInk& ink = ink_.data()[tile.first / kTileImages];
          if (round == 0) find_ink(images.pixels + tile.first * kPixels, tile.count, &ink);
          return ink;
        });
      }
      const int c = static_cast<int>(task);
      float* weights_of_class = weights + kFeatures * c;
      float* gradient = gradient_.data() + kFeatures * c;
      collect_gradient(c, chunks, images.count, gradient);
      step_of(kFeatures, rate, gradient, weights_of_class);
      pack(c, weights_of_class);
      if (c == 0) collect(chunks, statistics + round / 2);
    });
  });
}

void SimdOps::gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) {
  build_gram(team_, images, products, class_sums);
}

void SimdOps::gram_descend(const GramSystem& system, float* weights, float rate, int count,
                           PassStatistics* statistics) {
  gram_descent_.run(team_, system, weights, rate, count, statistics);
}

void SimdOps::scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) {
  require_images(count);
  pack(weights);
  const LabelledImages images = {pixels, nullptr, count};
  team_.run(chunks_of(count), [&](std::size_t chunk, int member) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    for_each_tile(chunk, count, [&](const Tile& tile) {
      find_ink(images.pixels + tile.first * kPixels, tile.count, &scratch.ink);
      scores_of(tile, images, scratch.ink, scratch);
      to_rows(scratch.scores.data(), tile.count, scores + tile.first * kClasses);
    });
  });
}

void SimdOps::count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) {
  require_images(images.count);
  pack(weights);
  const std::size_t chunks = prepare_chunks(images.count, false);
  team_.run(chunks, [&](std::size_t chunk, int member) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    TileSums& sums = sums_.data()[chunk].sums = {};
    for_each_tile(chunk, images.count, [&](const Tile& tile) {
      find_ink(images.pixels + tile.first * kPixels, tile.count, &scratch.ink);
      scores_of(tile, images, scratch.ink, scratch);
      subtract_labels(images.labels + tile.first, tile.count, scratch.scores.data(), &sums);
    });
  });
  *correct = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) *correct += sums_.data()[chunk].sums.correct;
}

}  // namespace mnistd::gpu::cpu
