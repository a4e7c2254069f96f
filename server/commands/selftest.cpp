// mnistd selftest: one page on whether a device computes what it should, made to be pasted into an issue.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <sys/utsname.h>

#include "server/commands/commands.h"
#include "server/commands/selftest_operations.h"
#include "server/commands/selftest_training.h"
#include "server/commands/utc_now.h"

namespace mnistd::commands {
namespace {

using Clock = std::chrono::steady_clock;

// Around the edges of wavefronts, blocks, and the chunks whose gradients are summed apart.
constexpr std::array kSizes = {1, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1000, 4096};
constexpr std::array kQuickSizes = {1, 63, 64, 65, 513};
constexpr int kTrainingImages = 1000;
constexpr int kQuickTrainingImages = 130;
constexpr int kTrialImages = 1000;
// A device that would take longer over kTimedImages is not timed: an emulator would not come to an end.
constexpr double kMostMillisecondsOfPass = 2000;

std::string system_text() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release + ", " + name.machine : "unknown";
}

void print(const char* name, const std::string& value) { std::printf("%-14s %s\n", name, value.c_str()); }

void print_head() {
  std::printf("mnistd selftest, version %s, %s\n\n", MNISTD_VERSION, utc_now().c_str());
  print("System:", system_text());
}

void print_device(const gpu::DeviceInfo& info) {
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f GiB", std::ldexp(static_cast<double>(info.memory_bytes), -30));
  print("Device:", info.name);
  print("Backend:", info.backend);
  print("Architecture:", info.architecture);
  print("Driver:", or_none(info.driver));
  print("Wavefront:",
        std::to_string(info.wavefront) + (info.backend == "cpu" ? " floats in a vector" : " lanes"));
  print(info.backend == "cpu" ? "Threads:" : "Compute units:", std::to_string(info.compute_units));
  print("Memory:", memory);
  print("Reason:", info.reason.empty() ? "asked for, or the first choice" : info.reason);
}

int print_results(const std::vector<OperationResult>& results) {
  int off = 0;
  for (const OperationResult& result : results) {
    char time[32] = "";
    if (result.milliseconds) std::snprintf(time, sizeof time, "%10.4f", *result.milliseconds);
    std::printf("%-18s %-18s %9.2g %9.2g %10s  %s\n", result.operation.c_str(),
                result.kernel.empty() ? "-" : result.kernel.c_str(), result.error, result.tolerance,
                *time == '\0' ? "-" : time, result.faults.empty() ? "ok" : "OFF");
    for (const std::string& fault : result.faults) std::printf("    %s\n", fault.c_str());
    std::fflush(stdout);
    off += result.faults.empty() ? 0 : 1;
  }
  return off;
}

int print_operations(gpu::Device& device, const SelftestOptions& options) {
  std::vector<int> sizes(kSizes.begin(), kSizes.end());
  if (options.quick) {
    sizes.assign(kQuickSizes.begin(), kQuickSizes.end());
  } else if (milliseconds_of_pass(device, kTrialImages) * kTimedImages / kTrialImages <=
             kMostMillisecondsOfPass) {
    sizes.push_back(kTimedImages);
  }
  const OperationChecks checks(sizes);
  std::printf("\nOperations against the CPU's reference, images:");
  for (int images : sizes) std::printf(" %d", images);
  std::printf("\n");
  std::printf("%-18s %-18s %9s %9s %10s\n", "operation", "kernel", "max error", "tolerance", "ms, 60,000");
  int off = print_results(checks.run(device, ""));
  for (const std::string& kernel : device.info().kernels) {
    gpu::DeviceOptions forced = options.device;
    forced.kernel = kernel;
    const auto opened = gpu::Device::open(forced);
    off += print_results(checks.run(*opened, kernel));
  }
  return off;
}

int print_training(gpu::Device& device, const SelftestOptions& options) {
  const TrainingCheck check = check_training(device, options.quick ? kQuickTrainingImages : kTrainingImages);
  std::printf("\nTraining, %d iterations over %d made-up images, %.4f ms an iteration\n",
              TrainingCheck::kIterations, check.images, check.milliseconds);
  std::printf("%-10s %12s %12s %15s\n", "iteration", "loss", "float64", "relative error");
  for (const TrainingCheck::Row& row : check.rows) {
    const bool last = row.iteration > TrainingCheck::kIterations;
    std::printf("%-10s %12.9f %12.9f %15.2g  %s\n", last ? "result" : std::to_string(row.iteration).c_str(),
                row.loss, row.float64, row.relative_error(), row.ok() ? "ok" : "OFF");
  }
  for (const std::string& fault : check.faults) std::printf("    %s\n", fault.c_str());
  return check.faults.empty() ? 0 : 1;
}

// Prints the page up to its last line; the number of checks that are off.
int print_page(const SelftestOptions& options) {
  print_head();
  try {
    const auto device = gpu::Device::open(options.device);
    print_device(device->info());
    std::fflush(stdout);
    int off = print_operations(*device, options);
    off += print_training(*device, options);
    return off;
  } catch (const gpu::NoSuchDevice& none) {
    print("Device:", std::string("none: ") + none.what());
  } catch (const std::exception& error) {
    std::printf("\nNot finished: %s\n", error.what());
  }
  return 1;
}

}  // namespace

int run_selftest(const SelftestOptions& options) {
  const auto begin = Clock::now();
  const int off = print_page(options);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf(
      "\nResult: %s, after %.1f s\n",
      off == 0 ? "all right" : ("OFF, " + std::to_string(off) + (off == 1 ? " check" : " checks")).c_str(),
      seconds);
  std::fflush(stdout);
  return off == 0 && std::ferror(stdout) == 0 ? 0 : 1;
}

}  // namespace mnistd::commands
