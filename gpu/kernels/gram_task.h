// W G, or a part of it: what the variants of the gram step from the second on share.
//
//                  kTaskColumns columns of G        A task is kTaskClasses classes of W times so many columns of G; each
//                 ┌────────────────────────┐        of the 10×785 sums belongs to one task.
//     pair 0   s0 │ t0   t1   …            │
//     pair 1   s1 │                        │        Rows come in pairs (j, j + 400), j < 400. Thread t has column
//        ⋮        │                        │        t mod kTaskColumns and, being in slice t / kTaskColumns, every
//     pair 399    │                        │        kSlices-th pair: lanes next to each other read entries of G next to
//                 └────────────────────────┘        each other. The slices' sums are added through LDS, in order.
//
//   W lies in LDS, of each pair all classes together, so that a thread gets the factors of several products with one read,
//   the same for all lanes of a slice.
#pragma once

#include <cstdint>

#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

template <int kTaskClasses, int kTaskColumns, int kTaskThreads>
struct GramTask {
  static constexpr int kTileClasses = kTaskClasses;
  static constexpr int kTileColumns = kTaskColumns;
  static constexpr int kThreads = kTaskThreads;
  static constexpr int kHalf = kGramStride / 2;
  static constexpr int kSlices = kThreads / kTaskColumns;
  static constexpr int kPairs = (kHalf + kSlices - 1) / kSlices;  // of a thread
  static constexpr int kColumnTiles = (kFeatures + kTaskColumns - 1) / kTaskColumns;
  static constexpr int kTasks = kColumnTiles * (kClasses / kTaskClasses);
  static constexpr int kSums = kTaskClasses * kTaskColumns;
  static_assert(kClasses % kTaskClasses == 0 && kGramStride % kTaskColumns == 0 &&
                kThreads % kTaskColumns == 0);
  static_assert(kTasks <= kGramShares && kSums <= kThreads && kThreads <= 1024);

  // Rows j and j + 400 of W.
  struct alignas(kTaskClasses % 2 == 0 ? 16 : 8) Factors {
    float low[kTaskClasses];
    float high[kTaskClasses];
  };
  using FactorTile = platform::Shared<Factors, kSlices * kPairs>;
  using SliceSums = platform::Shared<float, kSlices, kSums>;

  // Of a thread's column of G: its rows of the tile.
  struct Column {
    float low[kPairs];
    float high[kPairs];
  };

  __device__ static int first_class(int task) { return task / kColumnTiles * kTaskClasses; }
  __device__ static int first_column(int task) { return task % kColumnTiles * kTaskColumns; }

  __device__ static void load(const float* products, int task, Column& column) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const int row = row_of(k);
      const float* entry = entry_of(products, task, row);
      column.low[k] = row < kHalf ? *entry : 0.0f;
      column.high[k] = row + kHalf < kFeatures ? entry[kHalf * kGramStride] : 0.0f;
    }
  }

  // The thread's part of the sums, to LDS.
  __device__ static void multiply(const FactorTile& factors, const Column& column, SliceSums& slice_sums) {
    float sums[kTaskClasses] = {};
#pragma unroll
    for (int k = 0; k < kPairs; ++k) add(factors, k, column.low[k], column.high[k], sums);
    leave(sums, slice_sums);
  }

  // The same, bit for bit, of a column that is read on the way.
  __device__ static void multiply(const FactorTile& factors, const float* products, int task,
                                  SliceSums& slice_sums) {
    float sums[kTaskClasses] = {};
#pragma unroll 4
    for (int k = 0; k < kPairs; ++k) {
      const int row = row_of(k);
      const float* entry = entry_of(products, task, row);
      add(factors, k, row < kHalf ? *entry : 0.0f,
          row + kHalf < kFeatures ? entry[kHalf * kGramStride] : 0.0f, sums);
    }
    leave(sums, slice_sums);
  }

  // Entry `sum` < kSums of W G.
  __device__ static float add_slices(const SliceSums& slice_sums, int sum) {
    float total = slice_sums[0][sum];
#pragma unroll
    for (int slice = 1; slice < kSlices; ++slice) total += slice_sums[slice][sum];
    return total;
  }

 private:
  // The row of low[k]; that of high[k] is kHalf further.
  __device__ static int row_of(int k) { return static_cast<int>(threadIdx.x) / kTaskColumns + kSlices * k; }
  __device__ static const float* entry_of(const float* products, int task, int row) {
    return products + row * kGramStride + first_column(task) + static_cast<int>(threadIdx.x) % kTaskColumns;
  }
  __device__ static void add(const FactorTile& factors, int k, float low, float high,
                             float (&sums)[kTaskClasses]) {
    const Factors pair = factors[row_of(k)];
#pragma unroll
    for (int c = 0; c < kTaskClasses; ++c) {
      sums[c] = fmaf(pair.low[c], low, sums[c]);
      sums[c] = fmaf(pair.high[c], high, sums[c]);
    }
  }
  __device__ static void leave(const float (&sums)[kTaskClasses], SliceSums& slice_sums) {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int c = 0; c < kTaskClasses; ++c) {
      slice_sums[thread / kTaskColumns][c * kTaskColumns + thread % kTaskColumns] = sums[c];
    }
  }
};

// What a weight becomes, and its share of ⟨W, W G⟩ − 2⟨W, C⟩.
__device__ inline float stepped(float weight, float product, float target, float rate) {
  return fmaf(-2.0f * rate, product - target, weight);
}
__device__ inline double share_of(float weight, float product, float target) {
  return static_cast<double>(weight) * (product - 2.0 * target);
}

}  // namespace mnistd::gpu::kernels
