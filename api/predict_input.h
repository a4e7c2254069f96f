// The images of a predict request: from the body, from ?pixels=, or from a dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/request_input.h"
#include "model/dataset.h"

namespace mnistd::api {

struct PredictInput {
  std::vector<std::uint8_t> pixels;  // n×784, row-major, 0 paper, 255 ink
  std::string origin = "pixels";     // the caption's DATASET line
  std::optional<int> truth, index;   // of a dataset's image
  int split_count = 0;               // images in its split
  std::size_t count() const { return pixels.size() / model::kPixels; }
  model::Image image(std::size_t i) const {
    return model::Image(pixels.data() + i * model::kPixels, model::kPixels);
  }
};

// Notes errors of the query in it and throws Refusal. Query::allow has been called.
PredictInput read_predict_input(Exchange& exchange);

}  // namespace mnistd::api
