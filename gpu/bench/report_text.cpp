#include "gpu/bench/report_text.h"

#include <algorithm>
#include <cmath>

namespace mnistd::gpu::bench {
namespace {

// Four significant digits, so that columns of times from microseconds to seconds can be read.
std::string figure(double value) {
  char text[32];
  const int before = value >= 1 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  std::snprintf(text, sizeof text, "%.*f", std::clamp(4 - before + (value < 1 ? 1 : 0), 0, 5), value);
  return text;
}

double rate(double amount, double milliseconds) { return amount / milliseconds * 1e-6; }

}  // namespace

void TextReport::on_device(const Report& report) {
  const DeviceInfo& device = report.device;
  std::fprintf(out_, "%s (%s, %s)", device.name.c_str(), device.backend.c_str(), device.architecture.c_str());
  if (device.backend == "cpu") std::fprintf(out_, ", %d threads", device.compute_units);
  std::fprintf(out_, "%s%s\n", device.driver.empty() ? "" : ", ", device.driver.c_str());
  std::fprintf(out_, "images   %d: %s", report.images, report.source.c_str());
  if (report.images != report.host_images)
    std::fprintf(out_, report.images > report.host_images ? ", its %d repeated" : ", of its %d",
                 report.host_images);
  std::fprintf(out_, "\nlimits   copy %s GB/s, fp32 multiply-adds %s GFLOP/s, byte products %s Gop/s\n",
               figure(report.limits.bytes * 1e-9).c_str(), figure(report.limits.flops * 1e-9).c_str(),
               figure(report.limits.byte_operations * 1e-9).c_str());
  std::fflush(out_);
}

void TextReport::on_row(const Row& row) {
  if (!began_) {
    std::fprintf(out_, "\n%-19s %9s %19s %9s %9s %8s %9s %6s\n", "operation", "warm ms", "quartiles",
                 "cold ms", "Gop/s", "GB/s", "limit ms", "share");
  }
  if (!began_ || kernel_ != row.kernel || source_ != row.source) {
    std::fprintf(out_, "%s, %s\n", row.kernel.empty() ? "what the device chooses" : row.kernel.c_str(),
                 row.source.c_str());
    kernel_ = row.kernel;
    source_ = row.source;
    began_ = true;
  }
  if (row.timing) {
    const Summary& warm = row.timing->warm;
    const std::string spread = figure(warm.lower) + " - " + figure(warm.upper);
    std::fprintf(out_, "  %-17s %9s %19s %9s %9s %8s %9s %5.1f%%\n", row.operation.c_str(),
                 figure(warm.median).c_str(), spread.c_str(), figure(row.timing->cold.median).c_str(),
                 figure(rate(row.work.flops + row.work.byte_operations, warm.median)).c_str(),
                 figure(rate(row.work.bytes, warm.median)).c_str(), figure(row.bound.milliseconds).c_str(),
                 100 * row.bound.milliseconds / warm.median);
  } else {
    std::fprintf(out_, "  %-17s WRONG, so not timed\n", row.operation.c_str());
    for (const std::string& fault : row.faults) std::fprintf(out_, "    %s\n", fault.c_str());
  }
  std::fflush(out_);
}

void TextReport::on_training(const Training& training) {
  std::fprintf(out_, "  a training, %s: %d iterations at %.3g, %s ms each, loss %.9f (float64 %.9f)\n",
               training.solver.c_str(), training.iterations, static_cast<double>(training.rate),
               figure(training.milliseconds).c_str(), training.loss, training.expected_loss);
  for (const std::string& fault : training.faults) std::fprintf(out_, "    WRONG: %s\n", fault.c_str());
  std::fflush(out_);
}

void TextReport::end(const Report& report) {
  const Memory& memory = report.memory;
  const double images = static_cast<double>(memory.images);
  std::fprintf(out_, "\nmemory   images %.2f MB\n", images * 1e-6);
  const auto beyond = [&](const char* what, std::uint64_t bytes) {
    std::fprintf(out_, "         beyond them: %.2f MB, %.3f of that, kept by %s\n",
                 static_cast<double>(bytes) * 1e-6, static_cast<double>(bytes) / images, what);
  };
  if (memory.gemm_scratch > 0) beyond("gemm iterations", memory.gemm_scratch);
  beyond("all that was run", memory.all_scratch);
  std::fprintf(out_, "Result: %s\n", report.right() ? "all right" : "WRONG");
  std::fflush(out_);
}

}  // namespace mnistd::gpu::bench
