#include "model/ascii_art.h"

namespace mnistd::model {
namespace {

constexpr std::string_view kRamp =
    R"($@B%8&WM#*oahkbdpqwmZO0QLCJUYXzcvunxrjft/\|()1{}[]?-_+~<>i!lI;:,"^`'. )";
static_assert(kRamp.size() == 70);
constexpr std::size_t kWidth = 59;  // of the frame: "* ", 28 times a character and a space, "*"
constexpr std::string_view kGreenBackground = "\x1b[42m";
constexpr std::string_view kRedBackground = "\x1b[41m";
constexpr std::string_view kReset = "\x1b[0m";

// A line in the middle of the frame's width; `color` begins after the spaces, so that only the words have it.
void append_centred(std::string& out, const std::string& text, std::string_view color = {}) {
  if (text.size() < kWidth) out.append((kWidth - text.size()) / 2, ' ');
  out += color;
  out += text;
  if (!color.empty()) out += kReset;
  out += '\n';
}

void append_stars(std::string& out) {
  for (int i = 0; i < 29; ++i) out += "* ";
  out += "*\n";
}

}  // namespace

std::string ascii_digit(Image image, const AsciiCaption& caption, bool color) {
  std::string out;
  out.reserve(2048);
  append_centred(out, "DATASET: " + std::string(caption.dataset));
  if (caption.truth) append_centred(out, "TRUTH: " + std::to_string(*caption.truth));
  if (caption.index)
    append_centred(out, "ID: " + std::to_string(*caption.index + 1) + "/" + std::to_string(caption.count));
  if (caption.prediction) {
    std::string_view background;
    if (color && caption.truth)
      background = *caption.prediction == *caption.truth ? kGreenBackground : kRedBackground;
    append_centred(out, "PREDICTION: " + std::to_string(*caption.prediction), background);
  }
  append_stars(out);
  for (int row = 0; row < kRows; ++row) {
    out += "* ";
    for (int column = 0; column < kColumns; ++column) {
      out += kRamp[69 - 69 * image[row * kColumns + column] / 255];
      out += ' ';
    }
    out += "*\n";
  }
  append_stars(out);
  return out;
}

}  // namespace mnistd::model
