// Computes   next = W − 2·rate·(W G − C), and each block's share of ⟨W, W G⟩ − 2⟨W, C⟩, summed in double
// Shapes     W and next 10×800, padded; G 785×800, C 10×800
// Tiling     gram_task.h: tasks of 5 classes × 16 columns, one a block; block: 512 threads, 32 slices; grid: 2 × 50 blocks.
//            LDS 16,640 bytes of W, 10,240 of sums
//   gfx906, hipcc 5.2.3: 62 VGPRs, 4 waves a SIMD; sm_90a, CUDA 13.0: 40 registers
// Assumes    float rows of G, C and W aligned to 64 bytes
// Measured   H200: 0.0050 ms an iteration launched, 0.0041 ms as a graph, of 300; gfx906: not run (2026-11-30)
// Versus the previous variant: one idea, an iteration is one launch: W goes back and forth between two places, shares of the
//   loss stay where they are until many iterations are added up at once. And four times the blocks, so that the 60
//   compute units of gfx906 all have one; W comes through LDS.
#include "gpu/kernels/gram_task.h"

namespace mnistd::gpu::kernels {

using StepTask = GramTask<5, 16, 512>;

__global__ __launch_bounds__(StepTask::kThreads) void gram_step_2_one_launch_kernel(
    const float* products, const float* class_sums, const float* weights, float rate, float* next,
    int iteration, double* shares) {
  alignas(16) __shared__ StepTask::FactorTile factors;
  __shared__ StepTask::SliceSums slice_sums;
  __shared__ BlockSumParts<double, StepTask::kThreads> parts;

  const int thread = static_cast<int>(threadIdx.x);
  const int task = static_cast<int>(blockIdx.x);
  const int first_class = StepTask::first_class(task);
  StepTask::Column column;
  StepTask::load(products, task, column);
  if (thread < StepTask::kSlices * StepTask::kPairs) {
    StepTask::Factors pair = {};
#pragma unroll
    for (int c = 0; c < StepTask::kTileClasses; ++c) {
      const float* row = weights + (first_class + c) * kGramStride;
      pair.low[c] = thread < StepTask::kHalf ? row[thread] : 0.0f;
      pair.high[c] = thread < StepTask::kHalf ? row[thread + StepTask::kHalf] : 0.0f;
    }
    factors[thread] = pair;
  }
  __syncthreads();
  StepTask::multiply(factors, column, slice_sums);
  __syncthreads();
  double share = 0;
  if (thread < StepTask::kSums) {
    const int entry = (first_class + thread / StepTask::kTileColumns) * kGramStride +
                      StepTask::first_column(task) + thread % StepTask::kTileColumns;
    const float weight = weights[entry];
    const float target = class_sums[entry];
    const float product = StepTask::add_slices(slice_sums, thread);
    next[entry] = stepped(weight, product, target, rate);  // zeros of the padding stay zero
    share = share_of(weight, product, target);
  }
  share = block_sum<StepTask::kThreads>(share, parts);
  if (thread == 0) shares[task * kGramIterations + iteration] = share;
}

void gram_step_2_one_launch(hipStream_t stream, const GramSystem& system, const float* padded, float rate,
                            float* next, int iteration, double* shares) {
  static_assert(StepTask::kSlices * StepTask::kPairs <= StepTask::kThreads);
  static_assert(StepTask::kTasks == kGramLaunchShares);
  hipLaunchKernelGGL(gram_step_2_one_launch_kernel, dim3(StepTask::kTasks), dim3(StepTask::kThreads), 0,
                     stream, system.products, system.class_sums, padded, rate, next, iteration, shares);
  hip::check_launch("gram_step_2_one_launch");
}

}  // namespace mnistd::gpu::kernels
