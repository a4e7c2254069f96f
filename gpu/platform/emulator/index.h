// The index variables of a kernel, as HIP spells them. The scheduler sets them before it lets a thread run on.
#pragma once

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3() = default;
  constexpr dim3(unsigned width, unsigned height = 1, unsigned depth = 1) : x(width), y(height), z(depth) {}
};

inline uint3 threadIdx = {0, 0, 0};
inline uint3 blockIdx = {0, 0, 0};
inline dim3 blockDim;
inline dim3 gridDim;
