// The benchmark's report for programs.
#pragma once

#include <string>

#include "gpu/bench/bench.h"

namespace mnistd::gpu::bench {

// An object in JSON. Times in ms, work in operations and bytes, rates in operations and bytes a second.
std::string json_of(const Report& report, const std::string& version, const std::string& date);

}  // namespace mnistd::gpu::bench
