// XᵀX and YX from bytes, exactly, with vector instructions and threads.
//
// How it works. A task is a tile of images, whose products its member adds to 32-bit sums of his own (simd_gram_build.h).
// Before more images than those have room for, he adds them to the 64-bit result; so do all at the end. Integers add up to the
// same in any order, so tasks go to whoever is free. The last row is the images' own sums, those of all classes.
//
// Memory, while it runs: 3.4 MB a thread.
#pragma once

#include <cstdint>

#include "gpu/cpu/thread_team.h"
#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

// As Ops::gram, on `team`.
void build_gram(ThreadTeam& team, const LabelledImages& images, std::uint64_t* products,
                std::uint64_t* class_sums);

}  // namespace mnistd::gpu::cpu
