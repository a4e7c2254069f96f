// What AddressSanitizer sees of device memory. It ends the program: so each attempt has a process of its own.
#include <functional>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/platform/emulator/sanitizers.h"
#include "tests/emulator/device_array.h"

namespace mnistd::gpu::emulator {
namespace {

struct Ending {
  int status;
  std::string words;  // of standard error
};

Ending in_a_process(const std::function<void()>& attempt) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    attempt();
    _exit(0);
  }
  close(ends[1]);
  Ending ending{0, ""};
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    ending.words.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  REQUIRE(waitpid(child, &ending.status, 0) == child);
  return ending;
}

__global__ void write_at(float* values, int i) { values[i + static_cast<int>(threadIdx.x)] = 1; }

__global__ void read_at(const float* values, int i, float* result) { *result = values[i]; }

}  // namespace

TEST_CASE("a kernel that leaves its global memory ends under AddressSanitizer" *
          doctest::skip(!kAddressSanitizer)) {
  DeviceArray<float> values(100), result(1);
  const auto write = [&](int first) {
    return in_a_process(
        [&, first] { hipLaunchKernelGGL(write_at, 1, 64, 0, nullptr, values.data(), first); });
  };
  const auto read = [&](int i) {
    return in_a_process(
        [&, i] { hipLaunchKernelGGL(read_at, 1, 1, 0, nullptr, values.data(), i, result.data()); });
  };
  CHECK(write(36).status == 0);
  CHECK(read(99).status == 0);
  for (const Ending& ending : {write(37), write(-1), read(100), read(-1)}) {
    CHECK(ending.status != 0);
    CHECK(ending.words.find("heap-buffer-overflow") != std::string::npos);
  }
}

TEST_CASE("device memory is closed to the host under AddressSanitizer" * doctest::skip(!kAddressSanitizer)) {
  DeviceArray<float> values(100);
  const Ending ending = in_a_process([&] { values.data()[3] = 1; });
  CHECK(ending.status != 0);
  CHECK(ending.words.find("use-after-poison") != std::string::npos);
}

}  // namespace mnistd::gpu::emulator
