#include "gpu/platform/emulator/launch.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <random>
#include <string>

#include "gpu/platform/emulator/fault.h"
#include "gpu/platform/emulator/processor.h"

namespace mnistd::gpu::emulator {
namespace {

constexpr std::uint64_t kMostThreadsOfBlock = 1024;
constexpr std::uint64_t kMostThreadsOfGrid = 0xffffffff;

std::uint64_t first_seed() {
  const char* text = std::getenv("MNISTD_EMULATOR_SEED");
  if (text == nullptr || *text == '\0') {
    std::random_device chance;
    return chance();
  }
  std::uint64_t value = 0;
  const std::string_view digits = text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw EmulatorFault("MNISTD_EMULATOR_SEED=" + std::string(digits) +
                        " is not a number: unset it, or give one up to 2⁶⁴ − 1");
  return value;
}

struct Order {
  std::atomic<std::uint64_t> seed = first_seed();
  std::atomic<std::uint64_t> launches = 0;
};
Order& order() {
  static Order order;
  return order;
}

bool fits(const dim3& grid, const dim3& block) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (block.x > kMostThreadsOfBlock || block.y > kMostThreadsOfBlock || block.z > kMostThreadsOfBlock)
    return false;
  if (threads < 1 || threads > kMostThreadsOfBlock) return false;
  std::uint64_t blocks = 1;
  for (std::uint64_t side : {grid.x, grid.y, grid.z}) {
    blocks *= side;
    if (blocks < 1 || blocks * threads > kMostThreadsOfGrid) return false;
  }
  return true;
}

}  // namespace

std::uint64_t seed() { return order().seed; }

void set_seed(std::uint64_t seed) {
  order().seed = seed;
  order().launches = 0;
}

bool admits(const char* name, dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, hipStream_t stream) {
  if (!fits(grid, block)) {
    (void)remember(hipErrorInvalidConfiguration);
    return false;
  }
  if (!stream_exists(stream)) {
    (void)remember(hipErrorInvalidHandle);
    return false;
  }
  if (dynamic_shared_bytes != 0) {
    throw EmulatorFault("kernel " + std::string(name) +
                        " asks for dynamic shared memory: the emulator has platform::Shared only");
  }
  return true;
}

void run(const Kernel& kernel, dim3 grid, dim3 block) {
  const Turn turn;
  Processor::of_this_thread().run({kernel, grid, block, seed(), order().launches++});
}

}  // namespace mnistd::gpu::emulator
