// Computes   gradient = (2/n) · the sum of the parts, pixels' entries divided by 255; then W ← W − rate · gradient, or the
//            gradient alone; and the statistics of all blocks
// Shapes     m partial gradients of 10×785, statistics of b blocks → 10×785, one PassStatistics
// Tiling
//                  entries 0 ─► 31            block: 32 entries × 8 slices = 256 threads
//     part 0    s0 ►│ t0   …  t31 │           grid:  7850/32 = 246 blocks, and one for the statistics
//     part 1    s1 ►│ t32  …  t63 │           LDS:   2,048 bytes, and 96 of the block that adds statistics
//        ⋮      s7 ►│ t224 … t255 │           Slice s adds parts s, s + 8, …; then 32 threads add the slices in order. Sums
//     part 8    s0 ►│ t0   …      │           in double.
// Assumes    nothing
// Measured   with the pass that it ends
// Versus reduce_gradient, reduce_statistics, step and pack: one launch in place of four, each of which costs some microseconds
//   while the products of 60,000 images cost tens.
#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/kernels.h"
#include "gpu/kernels/launch.h"

namespace mnistd::gpu::kernels {

constexpr int kEntries = 32;
constexpr int kSlices = 8;
constexpr int kThreads = kEntries * kSlices;

// What becomes of the gradient: it is kept, or W goes a step down it.
struct Outcome {
  float* gradient;  // null: a step
  float* weights;
  float* packed;  // null: W is wanted in rows only
  float rate;
};

__global__ __launch_bounds__(kThreads) void finish_pass_kernel(const float* partial_gradients, int parts,
                                                               double scale,
                                                               const PassStatistics* block_statistics,
                                                               int blocks, Outcome outcome,
                                                               PassStatistics* statistics) {
  __shared__ platform::Shared<double, kSlices, kEntries> slice_sums;
  __shared__ BlockSumParts<double, kThreads> squared_parts;
  __shared__ BlockSumParts<std::uint32_t, kThreads> correct_parts;

  const int thread = static_cast<int>(threadIdx.x);
  if (blockIdx.x == gridDim.x - 1) {
    double squared = 0;
    std::uint32_t correct = 0;
    for (int i = thread; i < blocks; i += kThreads) {
      squared += block_statistics[i].squared_residual;
      correct += block_statistics[i].correct;
    }
    squared = block_sum<kThreads>(squared, squared_parts);
    correct = block_sum<kThreads>(correct, correct_parts);
    if (thread == 0) *statistics = PassStatistics{squared, correct, 0};
    return;
  }

  const int column = thread % kEntries;
  const int slice = thread / kEntries;
  const int entry = static_cast<int>(blockIdx.x) * kEntries + column;
  double sum = 0;
  if (entry < kWeights) {
#pragma unroll 8
    for (int part = slice; part < parts; part += kSlices) {
      sum += partial_gradients[std::int64_t{part} * kWeights + entry];
    }
  }
  slice_sums[slice][column] = sum;
  __syncthreads();
  if (slice > 0 || entry >= kWeights) return;
  for (int other = 1; other < kSlices; ++other) sum += slice_sums[other][column];
  const int feature = entry % kFeatures;
  const double largest = feature == kPixels ? 1.0 : 255.0;  // what stands for 1 in the partial gradients
  const float gradient = static_cast<float>(scale * sum / largest);
  if (outcome.gradient != nullptr) {
    outcome.gradient[entry] = gradient;
    return;
  }
  const float weight = fmaf(-outcome.rate, gradient, outcome.weights[entry]);
  outcome.weights[entry] = weight;
  if (outcome.packed != nullptr) outcome.packed[feature * kClasses + entry / kFeatures] = weight;
}

namespace {

void finish(hipStream_t stream, const PassParts& parts, int images, const Outcome& outcome,
            PassStatistics* statistics) {
  hipLaunchKernelGGL(finish_pass_kernel, dim3(parts_of(kWeights, kEntries) + 1), dim3(kThreads), 0, stream,
                     parts.gradients, parts.gradient_parts, 2.0 / images, parts.statistics,
                     parts.statistics_parts, outcome, statistics);
  hip::check_launch("finish_pass");
}

}  // namespace

void finish_gradient(hipStream_t stream, const PassParts& parts, int images, float* gradient,
                     PassStatistics* statistics) {
  finish(stream, parts, images, {gradient, nullptr, nullptr, 0}, statistics);
}

void finish_step(hipStream_t stream, const PassParts& parts, int images, float rate, float* weights,
                 float* packed, PassStatistics* statistics) {
  finish(stream, parts, images, {nullptr, weights, packed, rate}, statistics);
}

}  // namespace mnistd::gpu::kernels
