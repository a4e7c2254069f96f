// What becomes of an image's ten scores once its label is known. The rule is that of cpu/reference_ops.
#pragma once

#include <cstdint>

#include "gpu/ops.h"
#include "gpu/platform/platform.h"

namespace mnistd::gpu::kernels {

// Whether the scores name `label`: no other class higher, none lower-numbered as high. A NaN among them: no. Indexes
// nothing by the label, which would send the scores from registers to memory.
__device__ inline bool names_label(const float (&scores)[kClasses], int label) {
  float own = 0;
#pragma unroll
  for (int c = 0; c < kClasses; ++c) own = c == label ? scores[c] : own;
  bool right = true;
#pragma unroll
  for (int c = 0; c < kClasses; ++c) right &= c < label ? own > scores[c] : own >= scores[c];
  return right;
}

// Writes scores − one-hot(label) to `row` and returns the sum of its squares.
__device__ inline double subtract_label(const float (&scores)[kClasses], int label, float* row) {
  double squared = 0;
#pragma unroll
  for (int c = 0; c < kClasses; ++c) {
    const float residual = scores[c] - (c == label ? 1.0f : 0.0f);
    row[c] = residual;
    squared += static_cast<double>(residual) * residual;
  }
  return squared;
}

}  // namespace mnistd::gpu::kernels
