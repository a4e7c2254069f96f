// The inner loop of gradient descent by the normal equations, for every vector unit that Highway knows.
//
// It works on a GramSystem that is packed: without features that are zero in all images (67 pixels of MNIST), whose rows and
// columns of XᵀX are zero and whose weights never change; and in panels, each with all rows of as many columns as two vectors
// have, so that a panel is read from one end to the other.
#pragma once

#include <cstddef>

#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

inline constexpr int kStepClasses = 5;  // of one call
static_assert(kClasses % kStepClasses == 0);

// Columns of a panel: two vectors' floats. Divides kGramStride.
std::size_t gram_panel_columns();

// The five classes and the panel's columns that the pointers point at; rows of a class are kGramStride apart, aligned to 64 bytes.
struct GramStep {
  const float* panel = nullptr;        // rows × gram_panel_columns()
  std::size_t rows = 0;                // packed features
  const float* all_weights = nullptr;  // of the classes, from the first packed feature on
  const float* weights = nullptr;      // of the columns
  const float* class_sums = nullptr;   // of the columns
  float* next_weights = nullptr;       // of the columns
  float twice_rate = 0;
};

// next = W − twice_rate·(W G − C) in these columns. Returns their share of ⟨W, W G⟩ − 2⟨W, C⟩.
double gram_step_panel(const GramStep& step);

}  // namespace mnistd::gpu::cpu
