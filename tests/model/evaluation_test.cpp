#include "model/evaluation.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace mnistd;

TEST_CASE("the confusion matrix counts by truth and prediction") {
  const std::vector<std::uint8_t> truth{0, 0, 0, 1, 9, 9};
  const std::vector<std::uint8_t> predicted{0, 0, 7, 1, 4, 4};
  const auto evaluation = model::evaluate(predicted, truth);
  CHECK(evaluation.confusion[0][0] == 2);
  CHECK(evaluation.confusion[0][7] == 1);
  CHECK(evaluation.confusion[9][4] == 2);
  CHECK(evaluation.confusion[4][9] == 0);
  CHECK(evaluation.total() == 6);
  CHECK(evaluation.correct() == 3);
  CHECK(evaluation.accuracy() == 0.5);
  CHECK(evaluation.accuracy_of(0) == 2.0 / 3.0);
  CHECK(evaluation.accuracy_of(9) == 0);
  CHECK(std::isnan(evaluation.accuracy_of(5)));
}

TEST_CASE("an evaluation of nothing, and of what does not fit") {
  const std::vector<std::uint8_t> none, one{1}, no_digit{10};
  CHECK(std::isnan(model::evaluate(none, none).accuracy()));
  CHECK_THROWS_AS(model::evaluate(none, one), std::invalid_argument);
  CHECK_THROWS_AS(model::evaluate(no_digit, one), std::out_of_range);
}
