#include "gpu/platform/emulator/shared.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <cxxabi.h>

#include "gpu/platform/emulator/processor.h"

namespace mnistd::gpu::emulator {
namespace {

// Every array that a kernel has used: as many as the program declares.
std::vector<SharedArray>& known_arrays() {
  static std::vector<SharedArray> arrays;
  return arrays;
}

const SharedArray* array_around(const void* address) {
  const auto position = reinterpret_cast<std::uintptr_t>(address);
  for (const SharedArray& array : known_arrays()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(array.begin);
    if (position >= begin && position < begin + array.bytes) return &array;
  }
  return nullptr;
}

std::string declaration(const std::type_info& type, std::span<const int> shape) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  std::string text = "Shared<" + std::string(status == 0 ? name.get() : type.name());
  for (int size : shape) text += ", " + std::to_string(size);
  return text + ">";
}

// The indices that lead to `address`, "[3][12]", in dimensions whose elements are larger than `element_bytes`, or as
// large; and how many those are.
std::string indices(const SharedArray& array, const void* address, std::size_t element_bytes,
                    std::size_t* count) {
  std::size_t offset =
      static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(array.begin));
  std::size_t bytes = array.bytes;
  std::string text;
  *count = 0;
  for (int size : array.shape) {
    bytes /= static_cast<std::size_t>(size);
    if (bytes < element_bytes) break;
    text += "[" + std::to_string(offset / bytes) + "]";
    offset %= bytes;
    ++*count;
  }
  return text;
}

std::string name_of_cell(const void* cell, const std::type_info& type) {
  const SharedArray* array = array_around(cell);
  if (array == nullptr) return "shared memory " + declaration(type, {});
  std::size_t count = 0;
  const std::string place = indices(*array, cell, array->cell_bytes, &count);
  return "shared memory " + declaration(type, array->shape) + " " + place;
}

std::string name_of_thread(std::uint16_t thread) {
  return thread < 1024 ? "thread " + std::to_string(thread) + " of the block" : "several threads";
}

}  // namespace

void know_shared_array(const SharedArray& array) { known_arrays().push_back(array); }

[[gnu::noinline, gnu::cold]] void shared_fault(SharedFault fault, const void* cell,
                                               const std::type_info& type, std::uint16_t other) {
  Processor& processor = Processor::of_this_thread();
  if (processor.unwinding()) return;
  std::string text = name_of_cell(cell, type);
  switch (fault) {
    case SharedFault::unwritten:
      text += " is read before this block has written it";
      break;
    case SharedFault::read_after_write:
      text += " is read by this thread and written by " + name_of_thread(other) + ": no barrier lies between";
      break;
    case SharedFault::write_after_read:
      text += " is written by this thread and read by " + name_of_thread(other) + ": no barrier lies between";
      break;
    case SharedFault::write_after_write:
      text += " is written by this thread, and with another value by " + name_of_thread(other) +
              ": no barrier lies between";
      break;
    case SharedFault::atomic_and_plain:
      text += " is used by an atomic operation and by a plain one: no barrier lies between";
      break;
  }
  processor.fail(text, __builtin_return_address(0));
}

[[gnu::noinline, gnu::cold]] void shared_overrun(const void* row, std::size_t element_bytes, long long index,
                                                 int size) {
  Processor& processor = Processor::of_this_thread();
  if (processor.unwinding()) return;
  const std::string overrun =
      "[" + std::to_string(index) + "], past its " + std::to_string(size) + " elements";
  const SharedArray* array = array_around(row);
  std::string text = "shared memory is used at " + overrun;
  if (array != nullptr) {
    std::size_t count = 0;
    const std::size_t row_bytes = element_bytes * static_cast<std::size_t>(size);
    const std::string place = indices(*array, row, row_bytes, &count) + overrun;
    text = "shared memory " + declaration(*array->type, array->shape) + " is used at " + place +
           " in dimension " + std::to_string(count);
  }
  processor.fail(text, __builtin_return_address(0));
}

}  // namespace mnistd::gpu::emulator
