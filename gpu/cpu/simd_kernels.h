// The inner loops of SimdOps on images, one tile at a time, each compiled for every vector unit that Highway knows on this
// kind of processor and chosen when first called.
//
// A tile is what stays close while it is worked on: 64 images are 50 KB of bytes, which the second-level cache holds, and
// a pass fetches each pixel from memory once. Pixels are widened to floats in registers, by each kernel anew: conversions
// have units of their own, and floats left behind would be four times the bytes.
//
// Of MNIST's pixels 81 in 100 are 0. The pixels are looked at in pieces of one vector, and a piece that is blank is left
// out by both kernels: it adds nothing to a score or to a gradient. There is no branch for a piece: the kernels walk over
// the set bits of masks, found once for all iterations. So with weights that are not finite a blank piece adds nothing
// either, where 0·∞ would have made a NaN; the pieces with ink, and the loss, still leave the finite numbers.
//
// Rows of weights and of a gradient are padded to kRowFloats and aligned to 64 bytes. Scores and residuals of a tile are
// class-major, [class][image], rows kTileImages apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

inline constexpr int kTileImages = 64;
inline constexpr int kTileScores = kClasses * kTileImages;
inline constexpr int kRowFloats = 800;
inline constexpr int kWidestVector = 16;  // floats; wider units are used at this width
static_assert(kRowFloats >= kPixels && kRowFloats % (2 * kWidestVector) == 0 && kPixels % kWidestVector == 0);

struct VectorUnit {
  const char* name;  // as Highway calls it: "AVX2", "NEON"
  int floats;        // in a vector
};
VectorUnit vector_unit();

// An image is cut in two parts, so that the weights of a part fit the first-level cache with what else is in use.
inline constexpr int kParts[] = {0, 400, kPixels};

// Where the images of a tile have ink. An eight is 8 pixels; bit e is for the e-th of a part, bit i for image i. Where a vector has
// 16 pixels, the bit of its first eight is for both, and the other's is not set. Bits beyond the part or the tile are not set.
struct TileInk {
  std::uint64_t of_image[2][kTileImages];  // [part][i]: bits e
  std::uint64_t of_eight[2][64];           // [part][e]: bits i
};
static_assert(kTileImages == 64);
void find_ink(const std::uint8_t* pixels, int count, TileInk* ink);

// scores[c][i] = biases[c] + Σ weights[c][p]·pixels[i][p] for `count` images, whose ink is given.
// pixels: count×784 bytes, `end` that of the dataset they are part of (fetched ahead up to there); weights: 10×kRowFloats; biases: 10.
void forward_tile(const std::uint8_t* pixels, const std::uint8_t* end, int count, const TileInk& ink,
                  const float* weights, const float* biases, float* scores);

// What a tile's residuals add up to.
struct TileSums {
  double squared_residual;
  double residual[kClasses];
  std::uint32_t correct;
};

// scores[c][i] −= 1 where c is the label of image i: they become residuals. Adds to *sums what that yields.
void subtract_labels(const std::uint8_t* labels, int count, float* scores, TileSums* sums);

// gradient[c][p] += Σ residual[c][i]·pixels[i][p]. gradient: 10×kRowFloats.
void backward_tile(const std::uint8_t* pixels, const TileInk& ink, const float* residual, float* gradient);

// sum[p] = scale·Σ parts[k·stride + p] over k < count in that order, in double, for the 784 pixels.
void sum_parts(const float* parts, std::size_t count, std::size_t stride, double scale, float* sum);

}  // namespace mnistd::gpu::cpu
