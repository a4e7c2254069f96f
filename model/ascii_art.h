// A digit drawn with characters, to the letter as the original program drew it: a header centred over the frame, 30
// stars, 28 rows, 30 stars. reference/digit-test-0.txt is one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/dataset.h"

namespace mnistd::model {

struct AsciiCaption {
  std::string_view dataset{};  // the line DATASET: "train", "test"
  std::optional<int> truth{};  // no line without it
  std::optional<int> index{};  // 0-based; printed 1-based as ID: index+1/count
  int count = 0;
  std::optional<int> prediction{};  // no line without it
};

// With `color`, the prediction's background is green where it is the truth, red where not (ANSI escapes).
std::string ascii_digit(Image image, const AsciiCaption& caption, bool color = false);

}  // namespace mnistd::model
