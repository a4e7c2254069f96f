// What the CPU device tells about the machine that it runs on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mnistd::gpu::cpu {

// Name of the processor, from the text of /proc/cpuinfo: "model name" where there is one (x86), else the board's
// "Model" or "Hardware" line (ARM), else "<machine> processor".
std::string processor_name(std::string_view cpuinfo, std::string_view machine);
std::string processor_name();

// Whole processors that a control group's quota allows, rounded up, from the text of cpu.max ("150000 100000" → 2);
// 0 if it sets no limit ("max 100000") or cannot be read.
int processors_of_quota(std::string_view cpu_max);

// Processors that this process may use: those of its affinity mask, or fewer by the quota of its control group. ≥ 1.
int usable_processors();

std::uint64_t physical_memory_bytes();

// From the text of a cache's "size" in /sys: "32768K" → 33554432; 0 if it cannot be read.
std::uint64_t bytes_of_cache_size(std::string_view text);

// Of the largest cache that the system tells of for the first processor; 0 if it tells of none.
std::uint64_t last_cache_bytes();

}  // namespace mnistd::gpu::cpu
