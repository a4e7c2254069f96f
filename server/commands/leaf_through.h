// Digits to leaf through in a terminal.
#pragma once

#include <istream>
#include <ostream>

#include "model/dataset.h"
#include "model/linear.h"

namespace mnistd::commands {

// Draws a digit of the test split with its prediction, then asks: n or an empty line goes on to the next one, p back, a
// number (1-based, the printed ID) to that one, c or the end of `in` ends it.
void leaf_through(const model::Split& test, const model::LinearModel& model, std::istream& in,
                  std::ostream& out, bool color);

// One of them. `index` is 0-based.
void draw_test_digit(const model::Split& test, const model::LinearModel& model, int index, std::ostream& out,
                     bool color);

}  // namespace mnistd::commands
