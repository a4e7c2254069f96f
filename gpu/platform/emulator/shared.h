// Shared memory whose cells know who used them.
//
// How it works. Each cell keeps, beside its value, the interval in which it was last written and last read, and by which
// thread of the block. An interval lasts from one barrier to the next (clock.h); numbers of intervals are never used
// twice, so that a cell's notes of an earlier block, barrier or launch are simply old, and nothing need be cleared:
//   - a read of a cell last written before this block began is a read of what no thread of this block wrote;
//   - a read of what another thread wrote in this interval, or a write to what another thread read or wrote in it,
//     lacks a barrier between the two. Two threads that write the same value do no harm; a wavefront's lanes count as
//     any other threads: that they run in step is no promise.
// Either order of two conflicting accesses is found, whatever the seed.
//
// All is inlined, also where nothing else is, so that an address in the kernel tells the line that a fault is at.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <typeinfo>

#include "gpu/platform/emulator/clock.h"
#include "gpu/platform/emulator/exchange.h"

namespace mnistd::gpu::emulator {

enum class SharedFault { unwritten, read_after_write, write_after_read, write_after_write, atomic_and_plain };

// Where the array lies that a fault is in, for its message.
struct SharedArray {
  const void* begin;
  std::size_t bytes;
  std::size_t cell_bytes;
  const std::type_info* type;  // of the value
  std::span<const int> shape;
};
void know_shared_array(const SharedArray& array);

// Throw EmulatorFault with the array, the index, and the two threads. They return only to a destructor that runs while
// its thread is unwound.
void shared_fault(SharedFault fault, const void* cell, const std::type_info& type,
                  std::uint16_t other_thread);
void shared_overrun(const void* row, std::size_t element_bytes, long long index, int size);

// One value of shared memory. Taken as a T it is read, assigned to it is written.
template <class T>
class Cell {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);

 public:
  constexpr Cell() = default;

  [[gnu::always_inline]] operator T() const { return read(); }
  [[gnu::always_inline]] Cell& operator=(T value) {
    write(value);
    return *this;
  }
  Cell(const Cell&) = delete;  // a copy would be more shared memory
  [[gnu::always_inline]] Cell& operator=(const Cell& other) { return *this = other.read(); }
  [[gnu::always_inline]] Cell& operator+=(T value) { return *this = static_cast<T>(read() + value); }
  [[gnu::always_inline]] Cell& operator-=(T value) { return *this = static_cast<T>(read() - value); }
  [[gnu::always_inline]] Cell& operator*=(T value) { return *this = static_cast<T>(read() * value); }
  [[gnu::always_inline]] Cell& operator|=(T value) { return *this = static_cast<T>(read() | value); }
  [[gnu::always_inline]] Cell& operator++() { return *this += T{1}; }

  // Replaces the value by update(value) and returns the old one, as one atomic operation.
  template <class Update>
  [[gnu::always_inline]] T atomic(Update update) {
    if (write_interval_ < now.block_begin) fault(SharedFault::unwritten, writer_);
    if (write_interval_ == now.interval && writer_ != kAtomic && writer_ != now.thread)
      fault(SharedFault::atomic_and_plain, writer_);
    if (read_interval_ == now.interval && reader_ != now.thread)
      fault(SharedFault::write_after_read, reader_);
    write_interval_ = now.interval;
    writer_ = kAtomic;
    const T old = value_;
    value_ = update(old);
    return old;
  }

 private:
  [[gnu::always_inline]] void fault(SharedFault fault, std::uint16_t other_thread) const {
    shared_fault(fault, this, typeid(T), other_thread);
  }

  static constexpr std::uint16_t kSeveral = 0xffff;
  static constexpr std::uint16_t kAtomic = 0xfffe;

  [[gnu::always_inline]] T read() const {
    if (write_interval_ < now.block_begin) fault(SharedFault::unwritten, writer_);
    if (write_interval_ == now.interval && writer_ != now.thread)
      fault(writer_ == kAtomic ? SharedFault::atomic_and_plain : SharedFault::read_after_write, writer_);
    if (read_interval_ != now.interval) {
      read_interval_ = now.interval;
      reader_ = now.thread;
    } else if (reader_ != now.thread) {
      reader_ = kSeveral;
    }
    return value_;
  }

  [[gnu::always_inline]] void write(T value) {
    if (read_interval_ == now.interval && reader_ != now.thread)
      fault(SharedFault::write_after_read, reader_);
    std::uint16_t writer = now.thread;
    if (write_interval_ == now.interval && writer_ != writer) {
      if (writer_ == kAtomic) fault(SharedFault::atomic_and_plain, writer_);
      if (std::memcmp(&value, &value_, sizeof value) != 0) fault(SharedFault::write_after_write, writer_);
      writer = kSeveral;
    }
    write_interval_ = now.interval;
    writer_ = writer;
    value_ = value;
  }

  T value_{};
  std::uint32_t write_interval_ = 0;
  mutable std::uint32_t read_interval_ = 0;
  std::uint16_t writer_ = 0;
  mutable std::uint16_t reader_ = 0;
};

// One dimension of an array: `size` cells, or rows of them.
template <class Element, int size>
class Row {
  static_assert(size >= 1);

 public:
  [[gnu::always_inline]] Element& operator[](std::integral auto index) { return elements_[checked(index)]; }
  [[gnu::always_inline]] const Element& operator[](std::integral auto index) const {
    return elements_[checked(index)];
  }

 private:
  [[gnu::always_inline]] std::size_t checked(std::integral auto index) const {
    const auto position = static_cast<unsigned long long>(index);  // a negative index becomes a large one
    if (position < static_cast<unsigned long long>(size)) return static_cast<std::size_t>(position);
    shared_overrun(this, sizeof(Element), static_cast<long long>(index), size);
    return 0;
  }

  Element elements_[size];
};

template <class T, int... shape>
struct CellsOf {
  using Type = Cell<T>;
};
template <class T, int first, int... rest>
struct CellsOf<T, first, rest...> {
  using Type = Row<typename CellsOf<T, rest...>::Type, first>;
};

// What one array may take: on GCN, and on NVIDIA, whose wavefronts are of 32.
inline constexpr std::size_t kMostSharedBytes = std::size_t{kWavefront == 32 ? 227 : 64} * 1024;

// T[shape…] in shared memory, as GPUs declare it; Shared<T> is one T. Always a static object: its storage is that of
// the kernel's variable, its contents those of the block that runs.
template <class T, int... shape>
class Shared : public CellsOf<T, shape...>::Type {
  static_assert(sizeof(T) * (1 * ... * std::size_t{shape}) <= kMostSharedBytes,
                "a compute unit has 64 KiB of shared memory, a multiprocessor 227");
  using Cells = typename CellsOf<T, shape...>::Type;

 public:
  using Cells::operator=;

  [[gnu::always_inline]] decltype(auto) operator[](std::integral auto index) {
    make_known();
    return Cells::operator[](index);
  }
  [[gnu::always_inline]] decltype(auto) operator[](std::integral auto index) const {
    make_known();
    return Cells::operator[](index);
  }

 private:
  static constexpr int kShape[] = {shape..., 0};

  void make_known() const {
    if (known_) return;
    known_ = true;
    know_shared_array({this, sizeof(Cells), sizeof(Cell<T>), &typeid(T), {kShape, sizeof...(shape)}});
  }

  mutable bool known_ = false;
};

}  // namespace mnistd::gpu::emulator
