// Shared<T, N...> of a GPU: T[N]..., spelled as a type, so that the emulator can put a watched array in its place.
#pragma once

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

}  // namespace mnistd::gpu::platform
