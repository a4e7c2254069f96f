// A small dataset made from a seed: ten random sparse pictures, and images that are one of them with noise.
#pragma once

#include <cstdint>
#include <memory>

#include "model/dataset.h"

namespace mnistd::test {

std::shared_ptr<const model::Dataset> synthetic_dataset(int train_count, int test_count, std::uint32_t seed);

}  // namespace mnistd::test
