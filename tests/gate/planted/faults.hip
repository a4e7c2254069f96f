// Kernels that the gate must not let pass, each for one reason, and some that it must.
#include <hip/hip_runtime.h>

namespace planted {

// A block of 1,024 threads leaves a thread 64 registers; 96 values in flight need more.
__global__ __launch_bounds__(1024) void spills_kernel(const float* in, float* out, int n) {
  float values[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) values[i] = in[threadIdx.x + i * n];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 96; ++i) values[i] = fmaf(values[i], values[(i + 7) % 96], values[(i * 5) % 96]);
  }
#pragma unroll
  for (int i = 0; i < 96; ++i) out[threadIdx.x + i * n] = values[i];
}

// An index that is known only when it runs keeps the array out of registers.
__global__ __launch_bounds__(64) void scratch_kernel(const int* in, float* out) {
  float values[64] = {};
  for (int i = 0; i < 64; ++i) values[in[i] & 63] += 1.0f;
  for (int i = 0; i < 64; ++i) out[i] = values[in[64 + i] & 63];
}

// gfx906 adds no floats in memory: this is a loop around compare and swap.
__global__ __launch_bounds__(64) void float_atomic_kernel(const float* in, float* sum) {
  atomicAdd(sum, in[threadIdx.x]);
}

__global__ __launch_bounds__(64) void double_atomic_kernel(const double* in, double* sum) {
  atomicAdd(sum, in[threadIdx.x]);
}

__global__ __launch_bounds__(64) void integer_atomic_kernel(const unsigned* in, unsigned* sum) {
  atomicAdd(sum, in[threadIdx.x]);
}

// Registers, LDS and a template's arguments for the table to hold.
template <int rows, int columns>
__global__ __launch_bounds__(64) void wide_kernel(const float* in, float* out) {
  __shared__ float tile[rows * columns];
  float values[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) values[i] = in[threadIdx.x + i * columns];
  tile[threadIdx.x] = values[0];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int k = 0; k < rows; ++k) values[i] = fmaf(values[i], values[k], tile[threadIdx.x ^ i]);
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) out[threadIdx.x + i * columns] = values[i];
}
template __global__ void wide_kernel<40, 64>(const float* in, float* out);

// A thread a column, ten sums, and ten factors at an address that is the same in all lanes; or, to no other result where n is
// a multiple of 64, at one that the compiler must take to differ between them.
template <bool uniform>
__global__ __launch_bounds__(64) void hot_loop_kernel(const float* factors, const unsigned* pixels,
                                                      float* out, int n) {
  float sums[10] = {};
  for (int k = 0; k < n; ++k) {
    const int at = uniform ? 0 : static_cast<int>(threadIdx.x) / 64;
    const unsigned four = pixels[k * 64 + threadIdx.x];
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const float pixel = static_cast<float>((four >> (8 * b)) & 0xffu);
#pragma unroll
      for (int c = 0; c < 10; ++c)
        sums[c] = fmaf(factors[(4 * k + b + at) * 10 + c], uniform ? pixel : pixel + 1.0f, sums[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < 10; ++c) out[c * 64 + threadIdx.x] = sums[c];
}
template __global__ void hot_loop_kernel<true>(const float*, const unsigned*, float*, int);
template __global__ void hot_loop_kernel<false>(const float*, const unsigned*, float*, int);

__global__ __launch_bounds__(64) void hot_bytes_kernel(const unsigned* left, const unsigned* right,
                                                       unsigned* out, int n) {
  unsigned sum = 0;
  for (int k = 0; k < n; ++k) sum = __builtin_amdgcn_udot4(left[k * 64 + threadIdx.x], right[k], sum, false);
  out[threadIdx.x] = sum;
}

}  // namespace planted
