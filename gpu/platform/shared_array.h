// Shared<T, N...> of a GPU: T[N]..., spelled as a type, so that the emulator can put a watched array in its place.
#pragma once

#include "gpu/platform/four.h"

namespace mnistd::gpu::platform {

template <class T, int... kExtents>
struct SharedArray;
template <class T>
struct SharedArray<T> {
  using Type = T;
};
template <class T, int kFirst, int... kRest>
struct SharedArray<T, kFirst, kRest...> {
  using Type = typename SharedArray<T, kRest...>::Type[kFirst];
};
template <class T, int... kExtents>
using Shared = typename SharedArray<T, kExtents...>::Type;

#if defined(__HIP__) || defined(__CUDACC__)

template <class T, class Row>
__device__ inline Four<T> load_four(const Row& row, int first) {
  return *reinterpret_cast<const Four<T>*>(&row[first]);
}
template <class T, class Row>
__device__ inline void store_four(Row& row, int first, const Four<T>& four) {
  *reinterpret_cast<Four<T>*>(&row[first]) = four;
}

#endif

}  // namespace mnistd::gpu::platform
