// Which of the machine's devices is opened, and the words for why none can be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mnistd::gpu::hip {

struct Candidate {
  std::string name;          // "AMD Radeon Pro VII"
  std::string architecture;  // as the driver says it: "gfx906:sramecc+:xnack-"
};

// "gfx906" of "gfx906:sramecc+:xnack-".
std::string_view base_architecture(std::string_view architecture);

// The number of the device to open: `index`, or for −1 the first whose architecture is among `compiled`, names with commas
// or semicolons between. Throws NoSuchDevice: no devices, no such number, no code for the architecture.
int choose_device(std::span<const Candidate> devices, std::string_view compiled, int index);

}  // namespace mnistd::gpu::hip
