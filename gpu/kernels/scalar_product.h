// Ten sums of an image in a thread, with W at addresses that are the same in all lanes. Shared by residual_4_scalar and
// residual_5_ping_pong.
#pragma once

#include <cstdint>

#include "gpu/kernels/kernels.h"
#include "gpu/platform/platform.h"

namespace mnistd::gpu::kernels {

using Words = platform::Four<std::uint32_t>;    // 16 pixels
inline constexpr int kQuads = kPixelWords / 4;  // of an image

// Of image `image`, or of the last where there is none: then the thread's sums are of no use, and the hot loop has no branch.
__device__ inline const Words* quads_of(const std::uint32_t* pixels, std::int64_t image, int count) {
  return reinterpret_cast<const Words*>(pixels + (image < count ? image : count - 1) * kPixelWords);
}

// sums[c] += Σ w·x over the 16 pixels of `words`. weights: of the first of them, for class 0.
__device__ inline void add_quad(const Words& words, const float* weights, float (&sums)[kClasses]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    platform::keep_order();  // else it gathers more of W than there are scalar registers
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const float pixel = platform::byte_to_float(words.value[w], b);
#pragma unroll
      for (int c = 0; c < kClasses; ++c) {
        sums[c] = fmaf(weights[c * kFeatures + 4 * w + b], pixel, sums[c]);
      }
    }
  }
}

}  // namespace mnistd::gpu::kernels
