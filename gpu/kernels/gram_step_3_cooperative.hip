// Computes   W ← W − 2·rate·(W G − C), `count` times, and of each iteration shares of ⟨W, W G⟩ − 2⟨W, C⟩, in double
// Shapes     W 10×785; G 785×800, C 10×800
// Tiling     gram_task.h: tasks of 2 classes × 32 columns (125 of them), or of 5 × 32 (50) where the device runs fewer blocks at
//            once; block: 512 threads, 16 slices, a task; blocks that are fewer than the tasks go round. A block keeps its part
//            of G in registers, 50 a thread, for all iterations; of a second task it is read each time.
//            LDS 6,400 bytes of W (5 classes: 16,000), 4,096 of sums (10,240)
//
//   How blocks hand W to one another. There is no barrier for the grid: a barrier costs two trips to the second-level cache
//   after W's own. A weight travels as 64 bits, its value and the number of its iteration, in one store and one load. Who
//   needs it loads until the number is the one waited for; then the value is too. (NCCL's protocol LL does so.)
//     exchange[0]  W of even numbers        A block stores W k + 1 when it has seen all of W k of its classes; so whoever
//     exchange[1]  W of odd numbers         stores W k + 2 in W k's place knows that each block has gone past W k.
//   Numbers go on from launch to launch, so that what an earlier one left is never taken for new.
//   gfx906, hipcc 5.2.3: 98 VGPRs (5 classes: 115), 2 waves a SIMD; sm_90a, CUDA 13.0: 83 registers (98)
// Assumes    all blocks run at once: a cooperative launch. G and C aligned to 64 bytes
// Measured   H200: 0.00168 ms an iteration of 300, 0.00164 of 3,000; with 5 classes a block 0.00249; gfx906: not run. Tried and
//            slower: 1 class × 64 columns, 0.0020 ms. (2026-11-30)
// Versus the previous variant: one idea, a launch is many iterations: G is read once, and W goes from block to block within the
//   second-level cache.
#include "gpu/kernels/gram_task.h"

namespace mnistd::gpu::kernels {

namespace {

template <int kTaskClasses>
using DescentTask = GramTask<kTaskClasses, 32, 512>;

__device__ inline std::uint64_t tagged(float value, std::uint32_t tag) {
  return std::uint64_t{tag} << 32 | __float_as_uint(value);
}

// Factors `pair` of W, when all of them carry the tag.
template <class Task>
__device__ inline typename Task::Factors received(const std::uint64_t* exchange, int first_class, int pair,
                                                  std::uint32_t tag) {
  const bool high = pair + Task::kHalf < kFeatures;
  std::uint64_t low_words[Task::kTileClasses];
  std::uint64_t high_words[Task::kTileClasses];
  for (;;) {
    bool all = true;
#pragma unroll
    for (int c = 0; c < Task::kTileClasses; ++c) {
      const std::uint64_t* row = exchange + (first_class + c) * kGramStride;
      low_words[c] = platform::load_across_blocks(row + pair);
      high_words[c] = high ? platform::load_across_blocks(row + pair + Task::kHalf) : tagged(0, tag);
    }
#pragma unroll
    for (int c = 0; c < Task::kTileClasses; ++c) {
      all &= static_cast<std::uint32_t>(low_words[c] >> 32) == tag;
      all &= static_cast<std::uint32_t>(high_words[c] >> 32) == tag;
    }
    if (all) break;
    platform::wait_for_blocks();
  }
  typename Task::Factors factors;
#pragma unroll
  for (int c = 0; c < Task::kTileClasses; ++c) {
    factors.low[c] = __uint_as_float(static_cast<std::uint32_t>(low_words[c]));
    factors.high[c] = __uint_as_float(static_cast<std::uint32_t>(high_words[c]));
  }
  return factors;
}

template <class Task>
__device__ inline typename Task::Factors initial(const float* weights, int first_class, int pair) {
  typename Task::Factors factors;
#pragma unroll
  for (int c = 0; c < Task::kTileClasses; ++c) {
    const float* row = weights + (first_class + c) * kFeatures;
    factors.low[c] = row[pair];
    factors.high[c] = pair + Task::kHalf < kFeatures ? row[pair + Task::kHalf] : 0.0f;
  }
  return factors;
}

}  // namespace

template <int kTaskClasses>
__global__ __launch_bounds__(DescentTask<kTaskClasses>::kThreads) void gram_step_3_cooperative_kernel(
    const float* products, const float* class_sums, const float* weights, float rate, int count,
    std::uint32_t first_tag, std::uint64_t* exchange, double* shares) {
  using Task = DescentTask<kTaskClasses>;
  alignas(16) __shared__ typename Task::FactorTile factors;
  __shared__ typename Task::SliceSums slice_sums;
  __shared__ BlockSumParts<double, Task::kThreads> parts;

  const int thread = static_cast<int>(threadIdx.x);
  typename Task::Column kept;
  Task::load(products, static_cast<int>(blockIdx.x), kept);
  for (int k = 0; k < count; ++k) {
    const std::uint32_t tag = first_tag + static_cast<std::uint32_t>(k);
    const std::uint64_t* now = exchange + (tag & 1) * kGramMatrix;
    std::uint64_t* next = exchange + (~tag & 1) * kGramMatrix;
    for (int task = static_cast<int>(blockIdx.x); task < Task::kTasks; task += static_cast<int>(gridDim.x)) {
      const int first_class = Task::first_class(task);
      const int column = Task::first_column(task) + thread % Task::kTileColumns;
      const int own_class = first_class + thread / Task::kTileColumns;
      const bool owner = thread < Task::kSums && column < kFeatures;
      float weight = 0;
      float target = 0;
      if (owner) {
        // A weight that this thread itself has stored.
        weight = k == 0 ? weights[own_class * kFeatures + column]
                        : __uint_as_float(static_cast<std::uint32_t>(
                              platform::load_across_blocks(now + own_class * kGramStride + column)));
        target = class_sums[own_class * kGramStride + column];
      }
      if (thread < Task::kHalf) {
        factors[thread] = k == 0 ? initial<Task>(weights, first_class, thread)
                                 : received<Task>(now, first_class, thread, tag);
      }
      __syncthreads();
      if (task == static_cast<int>(blockIdx.x)) {
        Task::multiply(factors, kept, slice_sums);
      } else {
        Task::multiply(factors, products, task, slice_sums);
      }
      __syncthreads();
      double share = 0;
      if (owner) {
        const float product = Task::add_slices(slice_sums, thread);
        platform::store_across_blocks(next + own_class * kGramStride + column,
                                      tagged(stepped(weight, product, target, rate), tag + 1));
        share = share_of(weight, product, target);
      }
      share = block_sum<Task::kThreads>(share, parts);
      if (thread == 0) shares[task * kGramIterations + k] = share;
    }
  }
}

template <int kTaskClasses>
static int launch_descent(hipStream_t stream, int blocks, const GramSystem& system, const float* weights,
                          float rate, int count, std::uint32_t first_tag, std::uint64_t* exchange,
                          double* shares) {
  using Task = DescentTask<kTaskClasses>;
  static_assert(Task::kHalf == Task::kSlices * Task::kPairs && Task::kHalf <= Task::kThreads);
  const float* products = system.products;
  const float* class_sums = system.class_sums;
  void* arguments[] = {&products, &class_sums, &weights, &rate, &count, &first_tag, &exchange, &shares};
  MNISTD_HIP_CHECK(hipLaunchCooperativeKernel(gram_step_3_cooperative_kernel<kTaskClasses>,
                                              dim3(static_cast<unsigned int>(blocks)), dim3(Task::kThreads),
                                              arguments, 0, stream));
  return Task::kTasks;
}

GramCooperation gram_cooperation() {
  using Narrow = DescentTask<2>;
  using Wide = DescentTask<5>;
  const int narrow_blocks = resident_blocks(gram_step_3_cooperative_kernel<2>, Narrow::kThreads);
  if (narrow_blocks >= Narrow::kTasks) return {false, Narrow::kTasks};
  const int wide_blocks = resident_blocks(gram_step_3_cooperative_kernel<5>, Wide::kThreads);
  return {true, wide_blocks < Wide::kTasks ? wide_blocks : Wide::kTasks};
}

int gram_step_3_cooperative(hipStream_t stream, const GramSystem& system, const float* weights, float rate,
                            int count, std::uint32_t first_tag, std::uint64_t* exchange, double* shares,
                            const GramCooperation& cooperation) {
  const auto launch = cooperation.wide ? launch_descent<5> : launch_descent<2>;
  return launch(stream, cooperation.blocks, system, weights, rate, count, first_tag, exchange, shares);
}

}  // namespace mnistd::gpu::kernels
