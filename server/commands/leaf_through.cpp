#include "server/commands/leaf_through.h"

#include <charconv>
#include <optional>
#include <string>

#include "model/ascii_art.h"

namespace mnistd::commands {
namespace {

std::string without_spaces_around(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The ID that an answer asks for, which may be beyond the ends; nothing where it asks for none.
std::optional<int> id_of(const std::string& answer, int current) {
  if (answer.empty() || answer == "n" || answer == "next") return current + 1;
  if (answer == "p" || answer == "prev") return current - 1;
  const bool digits = answer.find_first_not_of("0123456789") == std::string::npos;
  int id = 0;
  const auto outcome = std::from_chars(answer.data(), answer.data() + answer.size(), id);
  if (!digits) return std::nullopt;
  return outcome.ec == std::errc() ? id : 0;  // 0: larger than an int, so beyond the last
}

}  // namespace

void draw_test_digit(const model::Split& test, const model::LinearModel& model, int index, std::ostream& out,
                     bool color) {
  const model::Image image = test.image(index);
  out << model::ascii_digit(image,
                            {.dataset = "test",
                             .truth = test.labels[index],
                             .index = index,
                             .count = test.count(),
                             .prediction = model.predict(image).label},
                            color);
}

void leaf_through(const model::Split& test, const model::LinearModel& model, std::istream& in,
                  std::ostream& out, bool color) {
  int id = 1;
  draw_test_digit(test, model, id - 1, out, color);
  while (true) {
    out << "[n]ext, [p]rev, a number from 1 to " << test.count() << ", [c]ontinue: " << std::flush;
    std::string line;
    if (!std::getline(in, line)) {
      out << '\n';
      return;
    }
    const std::string answer = without_spaces_around(line);
    if (answer == "c" || answer == "continue") return;
    const std::optional<int> wanted = id_of(answer, id);
    if (!wanted) {
      out << "\"" << answer << "\" is none of these.\n";
    } else if (*wanted < 1 || *wanted > test.count()) {
      out << "The digits are numbered from 1 to " << test.count() << ".\n";
    } else {
      id = *wanted;
      draw_test_digit(test, model, id - 1, out, color);
    }
  }
}

}  // namespace mnistd::commands
