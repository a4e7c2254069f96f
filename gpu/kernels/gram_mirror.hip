// Computes   products[a][b] = products[b][a] above the diagonal: gram_2 and gram_3 leave what is on and below it
// Shapes     785×785, 64-bit
// Tiling     block: 16 × 16 threads, a square of the upper triangle, transposed through LDS (2,176 bytes), so that rows are read
//            and written in order; grid: 50 × 50 squares, of which those below the diagonal end at once
//   gfx906, hipcc 5.2.3: 6 VGPRs, 10 waves a SIMD
// Assumes    nothing
// Measured   H200: 0.007 ms with its launch; gfx906: not run (2026-11-30)
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kSquare = 16;

__global__ __launch_bounds__(kSquare* kSquare) void gram_mirror_kernel(std::uint64_t* products) {
  __shared__ platform::Shared<std::uint64_t, kSquare, kSquare + 1> square;
  if (blockIdx.x < blockIdx.y) return;
  const int fast = static_cast<int>(threadIdx.x) % kSquare;
  const int slow = static_cast<int>(threadIdx.x) / kSquare;
  const int from_row = static_cast<int>(blockIdx.x) * kSquare + slow;
  const int from_column = static_cast<int>(blockIdx.y) * kSquare + fast;
  const bool there = from_row < kFeatures && from_column < kFeatures;
  square[slow][fast] = there ? products[from_row * kFeatures + from_column] : std::uint64_t{0};
  __syncthreads();
  const int row = static_cast<int>(blockIdx.y) * kSquare + slow;
  const int column = static_cast<int>(blockIdx.x) * kSquare + fast;
  if (row < column && column < kFeatures) products[row * kFeatures + column] = square[fast][slow];
}

void gram_mirror(hipStream_t stream, std::uint64_t* products) {
  constexpr unsigned int kSquares = parts_of(kFeatures, kSquare);
  hipLaunchKernelGGL(gram_mirror_kernel, dim3(kSquares, kSquares), dim3(kSquare * kSquare), 0, stream,
                     products);
  hip::check_launch("gram_mirror");
}

}  // namespace mnistd::gpu::kernels
