// Which device is opened, and why none is. No device is needed.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/error.h"
#include "gpu/hip/device_choice.h"

namespace mnistd::gpu::hip {
namespace {

using Devices = std::vector<Candidate>;

std::string refusal(const Devices& devices, const char* compiled, int index) {
  try {
    choose_device(devices, compiled, index);
  } catch (const NoSuchDevice& none) {
    return none.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the first device that the program has code for") {
  const Candidate vii = {"AMD Radeon VII", "gfx906:sramecc-:xnack-"};
  const Candidate navi = {"AMD Radeon RX 6800", "gfx1030"};
  CHECK(choose_device(Devices{vii}, "gfx906", -1) == 0);
  CHECK(choose_device(Devices{navi, vii}, "gfx906", -1) == 1);
  CHECK(choose_device(Devices{navi, vii}, "gfx906", 1) == 1);
  CHECK(choose_device(Devices{navi, vii}, "gfx906,gfx1030", -1) == 0);
  CHECK(choose_device(Devices{navi, vii}, "gfx900;gfx906:xnack-", -1) == 1);
}

TEST_CASE("why no device is chosen, in one line") {
  const Candidate navi = {"AMD Radeon RX 6800", "gfx1030"};
  const Candidate longer = {"Imaginary", "gfx9060"};
  for (const std::string& message :
       {refusal({navi}, "gfx906", -1), refusal({navi}, "gfx906", 0), refusal({navi, longer}, "gfx906", -1)}) {
    CAPTURE(message);
    CHECK(contains(message, "AMD Radeon RX 6800, is gfx1030"));
    CHECK(contains(message, "code for gfx906"));
    CHECK(contains(message, "-DMNISTD_HIP_ARCHS=gfx1030"));
    CHECK_FALSE(contains(message, "\n"));
  }
  CHECK(contains(refusal({}, "gfx906", -1), "no device"));
  CHECK(contains(refusal({navi, navi}, "gfx1030", 2), "numbers 0 to 1; asked for number 2"));
  CHECK(contains(refusal({navi}, "gfx1030", -2), "asked for number -2"));
  CHECK(contains(refusal({navi}, "", -1), "no code") == false);
}

}  // namespace mnistd::gpu::hip
