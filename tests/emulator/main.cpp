#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include <doctest/doctest.h>

#include "gpu/platform/emulator.h"

// A test that fails by chance fails again with the same seed.
int main(int argc, char** argv) {
  const unsigned long long seed = mnistd::gpu::emulator::seed();
  const int status = doctest::Context(argc, argv).run();
  if (status != 0) std::printf("MNISTD_EMULATOR_SEED=%llu\n", seed);
  return status;
}
