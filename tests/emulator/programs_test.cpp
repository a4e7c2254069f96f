// Correct programs of the usual kinds give the right results, with every seed.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "tests/emulator/device_array.h"

namespace mnistd::gpu::emulator {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 16;

std::vector<float> whole_floats(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37 + 11) % 101) - 50;
  return values;
}

unsigned blocks_for(std::size_t count, unsigned size) {
  return static_cast<unsigned>((count + size - 1) / size);
}

__global__ void __launch_bounds__(kThreads) block_sums(const float* values, int count, float* sums) {
  __shared__ platform::Shared<float, kThreads / platform::kSmallestWavefront> partial;
  const int lanes = platform::wavefront_size();
  const int thread = static_cast<int>(threadIdx.x);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float sum = i < count ? values[i] : 0.0f;
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_down(sum, static_cast<unsigned>(distance));
  if (thread % lanes == 0) partial[thread / lanes] = sum;
  __syncthreads();
  if (thread == 0) {
    float total = 0;
    for (int wavefront = 0; wavefront < kThreads / lanes; ++wavefront) total += partial[wavefront];
    sums[blockIdx.x] = total;
  }
}

__global__ void __launch_bounds__(kTile* kTile)
    transpose(const float* from, float* to, int rows, int columns) {
  __shared__ platform::Shared<float, kTile, kTile + 1> tile;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile, column = static_cast<int>(blockIdx.x) * kTile;
  if (row + y < rows && column + x < columns) tile[y][x] = from[(row + y) * columns + column + x];
  __syncthreads();
  if (column + y < columns && row + x < rows) to[(column + y) * rows + row + x] = tile[x][y];
}

// Inclusive, of one block, by doubling distances.
__global__ void __launch_bounds__(kThreads) scan(std::uint32_t* values) {
  __shared__ platform::Shared<std::uint32_t, kThreads> sums;
  const int thread = static_cast<int>(threadIdx.x);
  sums[thread] = values[thread];
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    const std::uint32_t before = thread >= distance ? sums[thread - distance] : 0u;
    __syncthreads();
    sums[thread] += before;
    __syncthreads();
  }
  values[thread] = sums[thread];
}

// Odd values: counted a wavefront by ballot, the counts added and their largest kept by atomic operations.
__global__ void __launch_bounds__(kThreads)
    count_odd(const std::uint32_t* values, int count, std::uint32_t* total, std::uint32_t* most) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const unsigned long long odd = __ballot(i < count && values[i] % 2 == 1);
  if (static_cast<int>(threadIdx.x) % platform::wavefront_size() == 0) {
    atomicAdd(total, static_cast<std::uint32_t>(__popcll(odd)));
    atomicMax(most, static_cast<std::uint32_t>(__popcll(odd)));
  }
}

__global__ void __launch_bounds__(kThreads)
    histogram(const std::uint32_t* values, int count, std::uint32_t* counts) {
  __shared__ platform::Shared<std::uint32_t, 10> bins;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < 10) bins[thread] = 0;
  __syncthreads();
  for (int i = thread; i < count; i += kThreads) atomicAdd(&bins[values[i] % 10], 1u);
  __syncthreads();
  if (thread < 10) counts[thread] = bins[thread];
}

__global__ void __launch_bounds__(kThreads) scale(float* values, int count, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] *= factor;
}

}  // namespace

TEST_CASE("sums of blocks by shuffles and shared memory, the same with every seed") {
  for (std::size_t count : {1u, 255u, 256u, 257u, 2000u}) {
    CAPTURE(count);
    const std::vector<float> values = whole_floats(count);
    DeviceArray<float> device(values);
    const unsigned blocks = blocks_for(count, kThreads);
    for (std::uint64_t seed : {1u, 2u, 3u, 4u}) {
      set_seed(seed);
      DeviceArray<float> sums(blocks);
      hipLaunchKernelGGL(block_sums, dim3(blocks), dim3(kThreads), 0, nullptr, device.data(),
                         static_cast<int>(count), sums.data());
      CHECK(hipGetLastError() == hipSuccess);
      const std::vector<float> result = sums.to_vector();
      for (std::size_t block = 0; block < blocks; ++block) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(block * kThreads);
        const auto end =
            values.begin() + static_cast<std::ptrdiff_t>(std::min(count, (block + 1) * kThreads));
        CHECK(result[block] == std::accumulate(begin, end, 0.0f));
      }
    }
  }
}

TEST_CASE("a tiled transpose at sizes that fill no tile") {
  for (const auto& size : {std::pair{1, 1}, {16, 16}, {15, 17}, {33, 20}}) {
    const int rows = size.first, columns = size.second;
    CAPTURE(rows);
    const std::vector<float> values = whole_floats(static_cast<std::size_t>(rows * columns));
    DeviceArray<float> from(values), to(values.size());
    const dim3 grid(blocks_for(static_cast<std::size_t>(columns), kTile),
                    blocks_for(static_cast<std::size_t>(rows), kTile));
    hipLaunchKernelGGL(transpose, grid, dim3(kTile, kTile), 0, nullptr, from.data(), to.data(), rows,
                       columns);
    const std::vector<float> result = to.to_vector();
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        CHECK(result[static_cast<std::size_t>(column * rows + row)] ==
              values[static_cast<std::size_t>(row * columns + column)]);
  }
}

TEST_CASE("a scan with two barriers a step") {
  std::vector<std::uint32_t> values(kThreads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * i % 97);
  DeviceArray<std::uint32_t> device(values);
  hipLaunchKernelGGL(scan, 1, kThreads, 0, nullptr, device.data());
  std::vector<std::uint32_t> expected(kThreads);
  std::partial_sum(values.begin(), values.end(), expected.begin());
  CHECK(device.to_vector() == expected);
}

TEST_CASE("ballots and atomic operations count") {
  std::vector<std::uint32_t> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * i * 7 / 3);
  const auto lanes = static_cast<std::size_t>(platform::wavefront_size());
  std::uint32_t expected = 0, expected_most = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += lanes) {
    std::uint32_t odd = 0;
    for (std::size_t i = begin; i < std::min(values.size(), begin + lanes); ++i) odd += values[i] % 2;
    expected += odd;
    expected_most = std::max(expected_most, odd);
  }
  DeviceArray<std::uint32_t> device(values), total(std::vector<std::uint32_t>{0}),
      most(std::vector<std::uint32_t>{0});
  hipLaunchKernelGGL(count_odd, 4, kThreads, 0, nullptr, device.data(), 1000, total.data(), most.data());
  CHECK(total.to_vector() == std::vector{expected});
  CHECK(most.to_vector() == std::vector{expected_most});

  DeviceArray<std::uint32_t> counts(10);
  hipLaunchKernelGGL(histogram, 1, kThreads, 0, nullptr, device.data(), 1000, counts.data());
  std::vector<std::uint32_t> expected_counts(10, 0);
  for (std::uint32_t value : values) ++expected_counts[value % 10];
  CHECK(counts.to_vector() == expected_counts);
}

TEST_CASE("kernels and copies of a stream run in order, and events lie between them") {
  hipStream_t stream = nullptr;
  REQUIRE(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  hipEvent_t begin = nullptr, end = nullptr;
  REQUIRE(hipEventCreate(&begin) == hipSuccess);
  REQUIRE(hipEventCreate(&end) == hipSuccess);
  const std::vector<float> values = whole_floats(600);
  DeviceArray<float> device(values), sums(3);
  REQUIRE(hipEventRecord(begin, stream) == hipSuccess);
  hipLaunchKernelGGL(scale, 3, kThreads, 0, stream, device.data(), 600, 2.0f);
  hipLaunchKernelGGL(block_sums, 3, kThreads, 0, stream, device.data(), 600, sums.data());
  hipLaunchKernelGGL((scale), 1, kThreads, 0, stream, sums.data(), 3, 0.25f);
  REQUIRE(hipEventRecord(end, stream) == hipSuccess);
  REQUIRE(hipEventSynchronize(end) == hipSuccess);
  REQUIRE(hipStreamSynchronize(stream) == hipSuccess);
  const std::vector<float> result = sums.to_vector();
  for (std::size_t block = 0; block < 3; ++block) {
    float sum = 0;
    for (std::size_t i = block * kThreads; i < std::min<std::size_t>(600, (block + 1) * kThreads); ++i)
      sum += values[i];
    CHECK(result[block] == sum * 2 * 0.25f);
  }
  float milliseconds = -1;
  REQUIRE(hipEventElapsedTime(&milliseconds, begin, end) == hipSuccess);
  CHECK(milliseconds > 0);
  CHECK(hipEventDestroy(begin) == hipSuccess);
  CHECK(hipEventDestroy(end) == hipSuccess);
  CHECK(hipStreamDestroy(stream) == hipSuccess);
}

}  // namespace mnistd::gpu::emulator
