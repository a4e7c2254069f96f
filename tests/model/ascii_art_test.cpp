#include "model/ascii_art.h"

#include <vector>

#include <doctest/doctest.h>

using namespace mnistd;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("every value has its character of the ramp") {
  // The definition of the picture, written out in whole numbers.
  const std::string ramp = "$@B%8&WM#*oahkbdpqwmZO0QLCJUYXzcvunxrjft/\\|()1{}[]?-_+~<>i!lI;:,\"^`'. ";
  REQUIRE(ramp.size() == 70);
  std::vector<std::uint8_t> pixels(784);
  for (int i = 0; i < 784; ++i) pixels[i] = static_cast<std::uint8_t>(i % 256);
  const auto lines = lines_of(model::ascii_digit(model::Image(pixels.data(), 784), {.dataset = "x"}));
  REQUIRE(lines.size() == 1 + 30);
  for (int row = 0; row < 28; ++row) {
    const std::string& line = lines[2 + row];
    REQUIRE(line.size() == 59);
    CHECK(line.starts_with("* "));
    CHECK(line.ends_with(" *"));
    for (int column = 0; column < 28; ++column) {
      const int value = (row * 28 + column) % 256;
      int steps = 0;  // ⌊69·v/255⌋ by counting
      while ((steps + 1) * 255 <= 69 * value) ++steps;
      CHECK(line[2 + 2 * column] == ramp[69 - steps]);
      CHECK(line[3 + 2 * column] == ' ');
    }
  }
}

TEST_CASE("the caption has the lines that are known") {
  const std::vector<std::uint8_t> pixels(784);
  const model::Image blank(pixels.data(), 784);
  const auto plain = lines_of(model::ascii_digit(blank, {.dataset = "upload"}));
  CHECK(plain.size() == 31);
  CHECK(plain[0] == std::string(22, ' ') + "DATASET: upload");
  const auto full = lines_of(
      model::ascii_digit(blank, {.dataset = "test", .truth = 3, .index = 41, .count = 500, .prediction = 8}));
  REQUIRE(full.size() == 34);
  CHECK(full[1] == std::string(25, ' ') + "TRUTH: 3");
  CHECK(full[2] == std::string(24, ' ') + "ID: 42/500");
  CHECK(full[3] == std::string(23, ' ') + "PREDICTION: 8");
}

TEST_CASE("only the prediction is coloured: green right, red wrong, none without a truth") {
  const std::vector<std::uint8_t> pixels(784, 200);
  const model::Image grey(pixels.data(), 784);
  model::AsciiCaption caption{.dataset = "test", .truth = 7, .index = 0, .count = 10, .prediction = 7};
  const std::string plain = model::ascii_digit(grey, caption);
  CHECK(plain.find('\x1b') == std::string::npos);

  const auto with_color = [&](const std::string& escape, char prediction) {
    std::string expected = plain;
    const std::string words = "PREDICTION: 7";
    std::string colored = words;
    colored.back() = prediction;
    return expected.replace(expected.find(words), words.size(), escape + colored + "\x1b[0m");
  };
  CHECK(model::ascii_digit(grey, caption, true) == with_color("\x1b[42m", '7'));
  caption.prediction = 1;
  CHECK(model::ascii_digit(grey, caption, true) == with_color("\x1b[41m", '1'));
  caption.truth.reset();
  CHECK(model::ascii_digit(grey, caption, true) == model::ascii_digit(grey, caption, false));
}
