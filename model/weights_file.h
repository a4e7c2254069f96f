// Weights as safetensors: an 8-byte little-endian header length, a JSON header, then the tensors; here float32 "weight"
// [10, 784] and "bias" [10], as torch.nn.Linear names and shapes them, for pixels in 0..1.
// Source: the safetensors format description (format version of 2023).
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mnistd::model {

// The text is no safetensors file of a linear model; the message says what was found and expected.
class WeightsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using WeightsMetadata = std::map<std::string, std::string>;

// `weights` is 10×785 with the bias last in each row. Returns the bytes of the file.
std::string to_safetensors(const std::vector<float>& weights, const WeightsMetadata& metadata);

// The inverse: 10×785. Throws WeightsError on anything malformed, of another type or shape, or not finite.
std::vector<float> from_safetensors(std::string_view bytes);

}  // namespace mnistd::model
