// G = XᵀX and C = YX of images as exact integers, as Ops::gram defines them.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/images.h"

namespace mnistd::gpu::bench {

struct ExactGram {
  std::vector<std::uint64_t> products;    // 785×785
  std::vector<std::uint64_t> class_sums;  // 10×785
};

// Of the host's first `count` images. The products are the CPU device's, proven by Freivalds' test (truth.h); the class sums
// are added up here. Throws std::runtime_error where the proof fails.
ExactGram exact_gram(const HostImages& images, int count);

// Whether products·v = Xᵀ(X v) for some random v.
bool is_gram_of(const HostImages& images, int count, const std::vector<std::uint64_t>& products);

// Of `count` images on a device, which repeats the host's.
ExactGram exact_gram_repeated(const HostImages& images, int count);

}  // namespace mnistd::gpu::bench
