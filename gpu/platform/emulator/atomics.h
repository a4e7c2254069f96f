// Integer atomic operations, on global memory and on cells of shared memory. Before each the scheduler may let other
// threads go on, so that what depends on the order of atomic operations shows.
//
// None for float, though HIP has them: sums of floats depend on the order, and gfx906 has no such instruction for global
// memory.
#pragma once

#include <concepts>
#include <type_traits>

#include "gpu/platform/emulator/shared.h"

namespace mnistd::gpu::emulator {

void before_atomic();

template <std::integral T, class Update>
T atomically(T* memory, Update update) {
  before_atomic();
  const T old = *memory;
  *memory = update(old);
  return old;
}

template <class T, class Update>
T atomically(Cell<T>* cell, Update update) {
  before_atomic();
  return cell->atomic(update);
}

// The type of the value behind the pointer.
template <class T>
struct Value {
  using Type = T;
};
template <class T>
struct Value<Cell<T>> {
  using Type = T;
};
template <class T, int... shape>
struct Value<Shared<T, shape...>> {
  using Type = T;
};
template <class Memory>
concept AtomicMemory = std::is_integral_v<typename Value<Memory>::Type> &&
                       sizeof(typename Value<Memory>::Type) >= 4;
template <class Memory>
using ValueOf = std::type_identity_t<typename Value<Memory>::Type>;

// Adds as hardware does, without overflow.
template <class T>
T wrapped_sum(T left, T right) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right));
}

}  // namespace mnistd::gpu::emulator

// Each returns the value before.
template <mnistd::gpu::emulator::AtomicMemory Memory>
auto atomicAdd(Memory* memory, mnistd::gpu::emulator::ValueOf<Memory> value) {
  return mnistd::gpu::emulator::atomically(
      memory, [value](auto old) { return mnistd::gpu::emulator::wrapped_sum(old, value); });
}

template <mnistd::gpu::emulator::AtomicMemory Memory>
auto atomicMax(Memory* memory, mnistd::gpu::emulator::ValueOf<Memory> value) {
  return mnistd::gpu::emulator::atomically(memory, [value](auto old) { return old < value ? value : old; });
}

template <mnistd::gpu::emulator::AtomicMemory Memory>
auto atomicMin(Memory* memory, mnistd::gpu::emulator::ValueOf<Memory> value) {
  return mnistd::gpu::emulator::atomically(memory, [value](auto old) { return value < old ? value : old; });
}
