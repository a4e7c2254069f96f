#include "gpu/platform/emulator/fault.h"

#include <cstring>

#include "gpu/platform/emulator/processor.h"
#include "gpu/platform/emulator/sanitizers.h"

namespace mnistd::gpu::emulator {
namespace {

std::string to_string(unsigned x, unsigned y, unsigned z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}
std::string to_string(const uint3& index) { return to_string(index.x, index.y, index.z); }
std::string to_string(const dim3& size) { return to_string(size.x, size.y, size.z); }

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The source line of an address in the program, where a sanitizer that can tell is there; else empty. Of the functions
// inlined there, the innermost that is not the emulator's own.
std::string line_of([[maybe_unused]] const void* code) {
#ifdef MNISTD_ADDRESS_SANITIZER
  if (code == nullptr) return "";
  char texts[2048] = "";  // one after the other, an empty one last
  __sanitizer_symbolize_pc(const_cast<void*>(code), "%s:%l", texts, sizeof texts);
  for (const char* text = texts; *text != '\0'; text += std::strlen(text) + 1) {
    const std::string line = base_name(text);
    if (!line.starts_with("shared.h:") && !line.starts_with("atomics.h:") && !line.starts_with("<"))
      return line;
  }
#endif
  return "";
}

}  // namespace

bool Place::operator==(const Place& other) const {
  return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
}

bool Place::operator<(const Place& other) const {
  const int order = file == other.file ? 0 : std::strcmp(file, other.file);
  return order != 0 ? order < 0 : line < other.line;
}

std::string to_string(const Place& place) { return base_name(place.file) + ":" + std::to_string(place.line); }

std::string Processor::fault_text(const std::string& what, const Thread& thread, const void* code) const {
  std::string text = what;
  if (const std::string line = line_of(code); !line.empty()) text += " at " + line;
  text += "; kernel " + std::string(grid_->kernel.name) + ", block " + to_string(blockIdx) + " of " +
          to_string(grid_->blocks) + ", thread " + to_string(thread.index) + " of " +
          to_string(grid_->threads);
  text += thread.last_barrier.file == nullptr ? ", before its first barrier"
                                              : ", after the barrier at " + to_string(thread.last_barrier);
  text +=
      "; launch " + std::to_string(grid_->number) + " of MNISTD_EMULATOR_SEED=" + std::to_string(grid_->seed);
  return text;
}

void Processor::fail(const std::string& what, const void* code) {
  const std::string text = fault_text(what, *current_, code);
  current_->unwinding = true;
  throw EmulatorFault(text);
}

}  // namespace mnistd::gpu::emulator
