// Computes   products = Σ x xᵀ, on and below the diagonal, and class_sums, as gram_1_plain: exact
// Shapes     X n×784 bytes and a 1 → 785×785 and 10×785, 64-bit
// Tiling     gram_tiles.h: 28 tiles of 112×112 pixels, cut into equal pieces for the blocks.
//
//                  16 threads: columns t, t + 16, … + 96     block: 16 × 16 threads
//                 ┌───────────────────────────┐              thread: rows r + 16i, columns t + 16j: 49 sums in registers
//     16 threads: │                           │              step: 16 groups of four images from LDS: 7 + 7 words for
//     rows r,     │   49 v_dot4 of 14 words   │                    49 products of four bytes
//     r + 16, …   │                           │              LDS:  7,680 bytes a side, 1,536 of labels
//                 └───────────────────────────┘
//   On the diagonal both sides are one tile, and of the 7×7 squares of 16×16 entries only the 28 with j ≤ i are computed;
//   there the thread also takes row r of the labels for its seven columns. While a step is computed the words of the next
//   one are on their way to registers.
//   gfx906, hipcc 5.2.3: 127 VGPRs, 2 waves a SIMD, nothing spilt; sm_90a, CUDA 13.0: 124 registers
// Assumes    pixels aligned to 4 bytes; products and class_sums zero; gram_mirror comes after
// Measured   H200: 0.42 ms at 60,000 images with zeroing and mirroring, 69 % of its limit (0.29 ms: 4.9·10⁹ products of four, 64 a
//            clock and multiprocessor at 1.98 GHz); gfx906: not run, limit 0.75 ms (2026-11-30)
// Versus the previous variant: one idea, a word holds one pixel of four images, so that an instruction multiplies and adds
//   four; and what that needs: bytes transposed once for 112 uses.
#include "gpu/kernels/gram_tiles.h"

namespace mnistd::gpu::kernels {
namespace {

using Tiles = GramTiles<256, 64>;
constexpr int kLanes = 16;
constexpr int kEach = Tiles::kSide / kLanes;  // rows, and columns, of a thread

__device__ inline int row_of_thread() { return static_cast<int>(threadIdx.x) / kLanes; }
__device__ inline int column_of_thread() { return static_cast<int>(threadIdx.x) % kLanes; }

struct Dot4 {
  struct Sums {
    std::uint32_t products[kEach][kEach];
    std::uint32_t labels[kEach];
    std::uint32_t ones;
  };

  template <bool kDiagonal>
  __device__ static void multiply(const Tiles::Tile& rows, const Tiles::Tile& columns,
                                  const Tiles::LabelTile& labels, Sums& sums) {
    const int row = row_of_thread();
    const int column = column_of_thread();
#pragma unroll 4
    for (int group = 0; group < Tiles::kGroups; ++group) {
      std::uint32_t left[kEach];
      std::uint32_t right[kEach];
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        left[k] = rows[group][row + kLanes * k];
        right[k] = columns[group][column + kLanes * k];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < (kDiagonal ? i + 1 : kEach); ++j) {
          sums.products[i][j] = platform::dot4(left[i], right[j], sums.products[i][j]);
        }
      }
      if constexpr (kDiagonal) {
        const std::uint32_t label = labels[group][row];
#pragma unroll
        for (int j = 0; j < kEach; ++j) sums.labels[j] = platform::dot4(label, right[j], sums.labels[j]);
        sums.ones = platform::dot4(label, 0x01010101u, sums.ones);
      }
    }
  }

  template <bool kDiagonal>
  __device__ static void add(const GramArguments& given, const GramSegment& segment, const Sums& sums) {
    const int row = row_of_thread();
    const int column = column_of_thread();
    unsigned long long* const first = given.products + (segment.row * Tiles::kSide + row) * kFeatures +
                                      segment.column * Tiles::kSide + column;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int j = 0; j < (kDiagonal ? i + 1 : kEach); ++j) {
        // Of the squares on the diagonal what is above it stays out.
        if (!kDiagonal || j < i || row >= column)
          add_to(first + kLanes * (i * kFeatures + j), sums.products[i][j]);
      }
    }
    if constexpr (kDiagonal) {
      unsigned long long* const of_labels = Tiles::label_sums(given, row);
      if (of_labels == nullptr) return;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        add_to(of_labels + segment.column * Tiles::kSide + column + kLanes * j, sums.labels[j]);
      }
      if (segment.column == 0 && column == 0) add_to(of_labels + kPixels, sums.ones);
    }
  }
};

}  // namespace

// At least two blocks a compute unit, on AMD two wavefronts a SIMD: 128 registers.
__global__ __launch_bounds__(Tiles::kThreads, 2) void gram_2_dot4_kernel(GramArguments given) {
  alignas(16) __shared__ Tiles::Tile rows;
  alignas(16) __shared__ Tiles::Tile columns;
  __shared__ Tiles::LabelTile labels;
  Tiles::compute_piece<Dot4>(given, rows, columns, labels);
}

void gram_2_dot4(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                 std::uint64_t* class_sums, const GramLimits& limits) {
  const int blocks = limits.blocks > 0 ? limits.blocks : resident_blocks(gram_2_dot4_kernel, Tiles::kThreads);
  const GramArguments given = Tiles::arguments(stream, images, products, class_sums, limits, blocks);
  hipLaunchKernelGGL(gram_2_dot4_kernel, dim3(static_cast<unsigned int>(blocks)), dim3(Tiles::kThreads), 0,
                     stream, given);
  hip::check_launch("gram_2_dot4");
  gram_mirror(stream, products);
}

}  // namespace mnistd::gpu::kernels
