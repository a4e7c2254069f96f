// The inner loops of SimdOps, one tile of images at a time, each compiled for every vector unit that Highway knows on
// this kind of processor and chosen when first called.
//
// A tile is what stays close while it is worked on. The forward pass widens its bytes to floats as it reads them and
// leaves those behind for the backward pass: 40 images are 125 KB, which the second-level cache holds, and each pixel
// is fetched from memory and converted once in an iteration.
//
// Rows (of a widened image, of weights, of a gradient) are padded to kRowFloats: whole pairs of the widest vectors. The
// padding of widened images must be zero; the kernels keep it so. All float arrays are aligned to 64 bytes, except
// scores and residuals, which are packed (ten to an image) and need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

inline constexpr int kTileImages = 40;
inline constexpr int kRowFloats = 800;
inline constexpr int kWidestVector = 16;  // floats; wider units are used at this width
static_assert(kRowFloats >= kPixels && kRowFloats % (2 * kWidestVector) == 0 && kPixels % kWidestVector == 0);

struct VectorUnit {
  const char* name;  // as Highway calls it: "AVX2", "NEON"
  int floats;        // in a vector
};
VectorUnit vector_unit();

// scores[i][c] = biases[c] + Σ weights[c][p]·pixels[i][p] for `count` images; rows[i][p] = pixels[i][p].
// pixels: count×784 bytes, `end` that of the dataset they are part of (fetched ahead up to there); weights: 10×kRowFloats; biases: 10; rows: count×kRowFloats; scores: count×10.
void forward_tile(const std::uint8_t* pixels, const std::uint8_t* end, int count, const float* weights,
                  const float* biases, float* rows, float* scores);

// rows[i][p] = pixels[i][p]: what forward_tile leaves behind, without the scores.
void widen_tile(const std::uint8_t* pixels, int count, float* rows);

// gradient[c][p] += Σ residual[i][c]·rows[i][p]. rows: count×kRowFloats; residual: count×10; gradient: 10×kRowFloats.
void backward_tile(const float* rows, int count, const float* residual, float* gradient);

// sum[p] = scale·Σ parts[k·stride + p] over k < count in that order, in double, for the 784 pixels.
void sum_parts(const float* parts, std::size_t count, std::size_t stride, double scale, float* sum);

}  // namespace mnistd::gpu::cpu
