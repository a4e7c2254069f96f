// Computes   products = Σ x xᵀ, on and below the diagonal, and class_sums, as gram_1_plain: exact
// Shapes     X n×784 bytes and a 1 → 785×785 and 10×785, 64-bit
// Tiling     gram_tiles.h, as gram_2_dot4; but each wavefront of 32 multiplies matrices of bytes:
//
//                 14 × 8 columns               block: 8 wavefronts of 32
//        w0  ►┌──────────────────┐             wavefront w < 7: rows 16w to 16w + 15, all 112 columns, as 14 sums of 16×8
//        w1  ►│ 16 rows          │             wavefront 7: on the diagonal, the 16 rows of labels
//         ⋮   │                  │             product: 16×32 bytes by 32×8: of 8 groups of four images
//        w6  ►├──────────────────┤             thread: 4 sums of each 16×8, 56 registers
//        w7  ►│ labels           │             LDS: as gram_2_dot4
//             └──────────────────┘
//   Lane 4g + t brings the words of row g and g + 8, groups t and t + 4, and of column g: what transposing made is the very
//   form that the instruction wants. It gets the sums of rows g and g + 8, columns 2t and 2t + 1.
//   sm_90a, CUDA 13.0: 128 registers, two blocks a multiprocessor
// Assumes    pixels aligned to 4 bytes; products and class_sums zero; gram_mirror comes after; a wavefront of 32
// Measured   H200: 0.189 ms at 60,000 images with zeroing and mirroring (0.016 ms). Not the products but the way of the words
//            into LDS bounds it: ncu saw 28 % of the multiprocessors' issue slots in use and a third of the waiting on
//            memory (of 0.236 ms then). Tried and slower: 512 threads and steps of 128 images (0.22 ms), three blocks a
//            multiprocessor (spills). (2026-11-30)
// Versus the previous variant: one idea, an instruction of a wavefront multiplies matrices, 4,096 products of bytes.
#include "gpu/kernels/gram_tiles.h"

namespace mnistd::gpu::kernels {
namespace {

using Tiles = GramTiles<256, 64>;
constexpr int kLanes = 32;
constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kBands = Tiles::kSide / kRows;  // of rows; the band behind the last is the labels
constexpr int kParts = Tiles::kThreads / kLanes / (kBands + 1);  // of the columns
constexpr int kAcross = Tiles::kSide / kColumns / kParts;
constexpr int kDepth = 8;  // groups of four images of a product
static_assert(Tiles::kThreads == kLanes * kParts * (kBands + 1) && Tiles::kLabelRows == kRows);
static_assert(Tiles::kSide == kColumns * kAcross * kParts && Tiles::kGroups % kDepth == 0);

__device__ inline int band() { return static_cast<int>(threadIdx.x) / kLanes / kParts; }
__device__ inline int part() { return static_cast<int>(threadIdx.x) / kLanes % kParts; }
// Lane 4g + t.
__device__ inline int lane_g() { return static_cast<int>(threadIdx.x) % kLanes / 4; }
__device__ inline int lane_t() { return static_cast<int>(threadIdx.x) % 4; }

// The lane's words of 16 rows of a tile, beginning at `row`, and eight groups, beginning at `group`.
template <class AnyTile>
__device__ inline void load_rows(const AnyTile& tile, int row, int group, std::uint32_t (&left)[4]) {
  left[0] = tile[group + lane_t()][row + lane_g()];
  left[1] = tile[group + lane_t()][row + lane_g() + 8];
  left[2] = tile[group + lane_t() + 4][row + lane_g()];
  left[3] = tile[group + lane_t() + 4][row + lane_g() + 8];
}

struct Matrices {
  struct Sums {
    std::uint32_t products[kAcross][4];
    std::uint32_t ones[4];  // of the labels, the same in each column
  };

  template <bool kDiagonal>
  __device__ static void multiply(const Tiles::Tile& rows, const Tiles::Tile& columns,
                                  const Tiles::LabelTile& labels, Sums& sums) {
    if (!kDiagonal && band() == kBands) return;
#pragma unroll 2
    for (int group = 0; group < Tiles::kGroups; group += kDepth) {
      std::uint32_t left[4];
      if (band() < kBands) {
        load_rows(rows, band() * kRows, group, left);
      } else {
        load_rows(labels, 0, group, left);
        platform::multiply_byte_matrices(left, {0x01010101u, 0x01010101u}, sums.ones);
      }
#pragma unroll
      for (int n = 0; n < kAcross; ++n) {
        const int column = (part() * kAcross + n) * kColumns + lane_g();
        const std::uint32_t right[2] = {columns[group + lane_t()][column],
                                        columns[group + lane_t() + 4][column]};
        platform::multiply_byte_matrices(left, right, sums.products[n]);
      }
    }
  }

  template <bool kDiagonal>
  __device__ static void add(const GramArguments& given, const GramSegment& segment, const Sums& sums) {
    if (!kDiagonal && band() == kBands) return;
    const bool of_labels = band() == kBands;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane_g() + 8 * half;
      const int tile_row = band() * kRows + row;
      unsigned long long* const sums_of_row =
          of_labels ? Tiles::label_sums(given, row)
                    : given.products + (segment.row * Tiles::kSide + tile_row) * kFeatures;
      if (sums_of_row == nullptr) continue;
      // Of a tile on the diagonal what is above it stays out.
      const int last = kDiagonal && !of_labels ? tile_row : Tiles::kSide;
      const int first = part() * kAcross * kColumns + 2 * lane_t();
      unsigned long long* const to = sums_of_row + segment.column * Tiles::kSide + first;
#pragma unroll
      for (int n = 0; n < kAcross; ++n) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          if (first + kColumns * n + k <= last) add_to(to + kColumns * n + k, sums.products[n][2 * half + k]);
        }
      }
      if (of_labels && segment.column == 0 && part() == 0 && lane_t() == 0) {
        add_to(sums_of_row + kPixels, sums.ones[2 * half]);
      }
    }
  }
};

}  // namespace

// At least two blocks a compute unit.
__global__ __launch_bounds__(Tiles::kThreads, 2) void gram_3_matrix_kernel(GramArguments given) {
  alignas(16) __shared__ Tiles::Tile rows;
  alignas(16) __shared__ Tiles::Tile columns;
  __shared__ Tiles::LabelTile labels;
  Tiles::compute_piece<Matrices>(given, rows, columns, labels);
}

void gram_3_matrix(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                   std::uint64_t* class_sums, const GramLimits& limits) {
  const int blocks =
      limits.blocks > 0 ? limits.blocks : resident_blocks(gram_3_matrix_kernel, Tiles::kThreads);
  const GramArguments given = Tiles::arguments(stream, images, products, class_sums, limits, blocks);
  hipLaunchKernelGGL(gram_3_matrix_kernel, dim3(static_cast<unsigned int>(blocks)), dim3(Tiles::kThreads), 0,
                     stream, given);
  hip::check_launch("gram_3_matrix");
  gram_mirror(stream, products);
}

}  // namespace mnistd::gpu::kernels
