#include "gpu/cpu/host.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace mnistd::gpu::cpu {

TEST_CASE("the processor's name") {
  CHECK(processor_name(
            "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654 96-Core\nmodel name\t: other\n",
            "x") == "AMD EPYC 9654 96-Core");
  CHECK(processor_name("processor\t: 0\nBogoMIPS\t: 108.00\n\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n",
                       "aarch64") == "Raspberry Pi 5 Model B Rev 1.0");
  CHECK(processor_name("Features : fp asimd\nHardware\t: BCM2835", "armv7l") == "BCM2835");
  CHECK(processor_name("processor : 0\nCPU implementer\t: 0x41\n", "aarch64") == "aarch64 processor");
  CHECK(processor_name("model name\t: \n", "x86_64") == "x86_64 processor");
  CHECK(processor_name("", "") == "unknown processor");
  CHECK_FALSE(processor_name().empty());
}

TEST_CASE("the quota of a control group") {
  CHECK(processors_of_quota("max 100000\n") == 0);
  CHECK(processors_of_quota("") == 0);
  CHECK(processors_of_quota("nonsense") == 0);
  CHECK(processors_of_quota("0 100000") == 0);
  CHECK(processors_of_quota("100000 0") == 0);
  CHECK(processors_of_quota("50000 100000\n") == 1);
  CHECK(processors_of_quota("100000 100000\n") == 1);
  CHECK(processors_of_quota("150000 100000\n") == 2);
  CHECK(processors_of_quota("1600000 100000\n") == 16);
}

TEST_CASE("the size of a cache") {
  CHECK(bytes_of_cache_size("32768K\n") == 32768u * 1024);
  CHECK(bytes_of_cache_size("320M") == 320u << 20);
  CHECK(bytes_of_cache_size("512") == 512);
  CHECK(bytes_of_cache_size("") == 0);
  CHECK(bytes_of_cache_size("K") == 0);
  CHECK(bytes_of_cache_size("1T") == 0);
}

TEST_CASE("what this machine has") {
  CHECK(usable_processors() >= 1);
  CHECK(usable_processors() <= sysconf(_SC_NPROCESSORS_CONF));
  CHECK(physical_memory_bytes() > 64u << 20);
}

}  // namespace mnistd::gpu::cpu
