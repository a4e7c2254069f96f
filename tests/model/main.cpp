// Two programs in one, so that what needs the real MNIST files is a test of its own, which is skipped by name where they
// are absent: `mnistd_test_model` runs all others, `mnistd_test_model --mnist` those of the suite "mnist".
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>
#include <string_view>

#include <doctest/doctest.h>

#include "model/idx_file.h"
#include "tests/model/mnist_directory.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  doctest::Context context;
  const bool real_data = argc > 1 && std::string_view(argv[1]) == "--mnist";
  context.addFilter(real_data ? "test-suite" : "test-suite-exclude", "mnist");
  context.applyCommandLine(argc, argv);
  if (real_data) {
    try {
      for (const char* stem : {"train", "t10k"}) {
        mnistd::model::find_idx(mnistd::test::mnist_directory(), std::string(stem) + "-images", 3);
        mnistd::model::find_idx(mnistd::test::mnist_directory(), std::string(stem) + "-labels", 1);
      }
    } catch (const mnistd::model::DatasetError& error) {
      std::printf("SKIP: no MNIST files: %s\n", error.what());
      return kSkipped;
    }
  }
  return context.run();
}
