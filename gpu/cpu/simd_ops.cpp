#include "gpu/cpu/simd_ops.h"

#include <algorithm>

namespace mnistd::gpu::cpu {
namespace {

constexpr std::size_t kGradientFloats = std::size_t{kClasses} * kRowFloats;

struct Tile {
  std::size_t chunk;
  std::size_t first;  // image
  int count;
  bool opens_chunk;
};

// Turns a tile's scores into residuals in place; adds what that yields to the chunk's sums.
void subtract_labels(const std::uint8_t* labels, int count, float* scores, double* squared_residual,
                     std::uint32_t* correct) {
  double squares[kClasses] = {};
  for (int i = 0; i < count; ++i) {
    float* row = scores + kClasses * i;
    *correct += names_label(row, labels[i]);
    row[labels[i]] -= 1.0f;
    for (int c = 0; c < kClasses; ++c) squares[c] += static_cast<double>(row[c]) * row[c];
  }
  for (double square : squares) *squared_residual += square;
}

void add_rows(const float* residual, int count, double* sums) {
  for (int i = 0; i < count; ++i) {
    for (int c = 0; c < kClasses; ++c) sums[c] += residual[kClasses * i + c];
  }
}

}  // namespace

SimdOps::SimdOps(int threads)
    : team_(threads), scratch_(static_cast<std::size_t>(threads)), weights_(kGradientFloats) {
  for (Scratch& scratch : scratch_) {
    scratch.rows = AlignedArray<float>(std::size_t{kTileImages} * kRowFloats);
    scratch.scores = AlignedArray<float>(std::size_t{kTileImages} * kClasses);
    std::fill_n(scratch.rows.data(), scratch.rows.size(), 0.0f);
  }
  std::fill_n(weights_.data(), weights_.size(), 0.0f);
}

std::uint64_t SimdOps::scratch_bytes() const {
  std::uint64_t bytes = weights_.bytes() + gradient_.bytes() + gradients_.bytes() + sums_.bytes();
  for (const Scratch& scratch : scratch_) bytes += scratch.rows.bytes() + scratch.scores.bytes();
  return bytes;
}

void SimdOps::pack(const float* weights) {
  for (int c = 0; c < kClasses; ++c) {
    const float* from = weights + kFeatures * c;
    float* to = weights_.data() + kRowFloats * c;
    for (int p = 0; p < kPixels; ++p) to[p] = static_cast<float>(from[p] / 255.0);
    biases_[c] = from[kPixels];
  }
}

std::size_t SimdOps::prepare_chunks(int count, bool with_gradients) {
  const std::size_t chunks = (static_cast<std::size_t>(count) + kChunkImages - 1) / kChunkImages;
  if (sums_.size() < chunks) sums_ = AlignedArray<ChunkSums>(chunks);
  std::fill_n(sums_.data(), chunks, ChunkSums{});
  if (with_gradients && gradients_.size() < chunks * kGradientFloats) {
    gradients_ = AlignedArray<float>(chunks * kGradientFloats);
  }
  return chunks;
}

// Calls function(tile, scratch) for all tiles: those of a chunk in order, by one thread.
template <class Function>
void SimdOps::for_each_tile(int count, Function&& function) {
  const std::size_t images = static_cast<std::size_t>(count);
  team_.run((images + kChunkImages - 1) / kChunkImages, [&](std::size_t chunk, int member) {
    const std::size_t begin = chunk * kChunkImages;
    const std::size_t end = std::min(begin + kChunkImages, images);
    for (std::size_t first = begin; first < end; first += kTileImages) {
      const int size = static_cast<int>(std::min<std::size_t>(kTileImages, end - first));
      function(Tile{chunk, first, size, first == begin}, scratch_[static_cast<std::size_t>(member)]);
    }
  });
}

void SimdOps::collect(std::size_t chunks, PassStatistics* statistics) const {
  *statistics = PassStatistics{};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    statistics->squared_residual += sums_.data()[chunk].squared_residual;
    statistics->correct += sums_.data()[chunk].correct;
  }
}

void SimdOps::collect_gradient(std::size_t chunks, int count, float* gradient) {
  team_.run(kClasses, [&](std::size_t c, int) {
    sum_parts(gradients_.data() + c * kRowFloats, chunks, kGradientFloats, 2.0 / 255.0 / count,
              gradient + c * kFeatures);
    double bias = 0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) bias += sums_.data()[chunk].bias_gradient[c];
    gradient[c * kFeatures + kPixels] = static_cast<float>(2.0 * bias / count);
  });
}

void SimdOps::initialise(float* weights, std::uint32_t seed) { plain_.initialise(weights, seed); }

void SimdOps::step(float* weights, const float* gradient, float rate) {
  plain_.step(weights, gradient, rate);
}

void SimdOps::residual(const LabelledImages& images, const float* weights, float* residual,
                       PassStatistics* statistics) {
  require_images(images.count);
  pack(weights);
  const std::uint8_t* end = images.pixels + std::size_t{kPixels} * images.count;
  const std::size_t chunks = prepare_chunks(images.count, false);
  for_each_tile(images.count, [&](const Tile& tile, Scratch& scratch) {
    float* rows = residual + tile.first * kClasses;
    ChunkSums& sums = sums_.data()[tile.chunk];
    forward_tile(images.pixels + tile.first * kPixels, end, tile.count, weights_.data(), biases_,
                 scratch.rows.data(), rows);
    subtract_labels(images.labels + tile.first, tile.count, rows, &sums.squared_residual, &sums.correct);
  });
  collect(chunks, statistics);
}

void SimdOps::gradient(const LabelledImages& images, const float* residual, float* gradient) {
  require_images(images.count);
  const std::size_t chunks = prepare_chunks(images.count, true);
  for_each_tile(images.count, [&](const Tile& tile, Scratch& scratch) {
    float* partial = gradients_.data() + tile.chunk * kGradientFloats;
    if (tile.opens_chunk) std::fill_n(partial, kGradientFloats, 0.0f);
    const float* rows = residual + tile.first * kClasses;
    widen_tile(images.pixels + tile.first * kPixels, tile.count, scratch.rows.data());
    backward_tile(scratch.rows.data(), tile.count, rows, partial);
    add_rows(rows, tile.count, sums_.data()[tile.chunk].bias_gradient);
  });
  collect_gradient(chunks, images.count, gradient);
}

void SimdOps::loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                                PassStatistics* statistics) {
  require_images(images.count);
  pack(weights);
  const std::uint8_t* end = images.pixels + std::size_t{kPixels} * images.count;
  const std::size_t chunks = prepare_chunks(images.count, true);
  for_each_tile(images.count, [&](const Tile& tile, Scratch& scratch) {
    float* partial = gradients_.data() + tile.chunk * kGradientFloats;
    if (tile.opens_chunk) std::fill_n(partial, kGradientFloats, 0.0f);
    float* rows = scratch.scores.data();
    ChunkSums& sums = sums_.data()[tile.chunk];
    forward_tile(images.pixels + tile.first * kPixels, end, tile.count, weights_.data(), biases_,
                 scratch.rows.data(), rows);
    subtract_labels(images.labels + tile.first, tile.count, rows, &sums.squared_residual, &sums.correct);
    add_rows(rows, tile.count, sums.bias_gradient);
    backward_tile(scratch.rows.data(), tile.count, rows, partial);
  });
  collect(chunks, statistics);
  collect_gradient(chunks, images.count, gradient);
}

void SimdOps::descend(const LabelledImages& images, float* weights, float rate, int count,
                      PassStatistics* statistics) {
  if (gradient_.size() == 0) gradient_ = AlignedArray<float>(kWeights);
  for (int k = 0; k < count; ++k) {
    loss_and_gradient(images, weights, gradient_.data(), statistics + k);
    step(weights, gradient_.data(), rate);
  }
}

void SimdOps::gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) {
  plain_.gram(images, products, class_sums);
}

void SimdOps::gram_descend(const GramSystem& system, float* weights, float rate, int count,
                           PassStatistics* statistics) {
  plain_.gram_descend(system, weights, rate, count, statistics);
}

void SimdOps::scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) {
  require_images(count);
  pack(weights);
  const std::uint8_t* end = pixels + std::size_t{kPixels} * count;
  for_each_tile(count, [&](const Tile& tile, Scratch& scratch) {
    forward_tile(pixels + tile.first * kPixels, end, tile.count, weights_.data(), biases_,
                 scratch.rows.data(), scores + tile.first * kClasses);
  });
}

void SimdOps::count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) {
  require_images(images.count);
  pack(weights);
  const std::uint8_t* end = images.pixels + std::size_t{kPixels} * images.count;
  const std::size_t chunks = prepare_chunks(images.count, false);
  for_each_tile(images.count, [&](const Tile& tile, Scratch& scratch) {
    float* rows = scratch.scores.data();
    forward_tile(images.pixels + tile.first * kPixels, end, tile.count, weights_.data(), biases_,
                 scratch.rows.data(), rows);
    for (int i = 0; i < tile.count; ++i) {
      sums_.data()[tile.chunk].correct += names_label(rows + kClasses * i, images.labels[tile.first + i]);
    }
  });
  *correct = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) *correct += sums_.data()[chunk].correct;
}

}  // namespace mnistd::gpu::cpu
