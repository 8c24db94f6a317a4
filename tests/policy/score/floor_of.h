// Compares an exact integer score with the same formula in doubles.
#ifndef GPUSCHED_TESTS_POLICY_SCORE_FLOOR_OF_H_
#define GPUSCHED_TESTS_POLICY_SCORE_FLOOR_OF_H_

#include <gtest/gtest.h>

#include <cmath>

#include "gpusched/policy/concepts.h"

namespace gpusched {

// Whether `score` is the floor of `value`; within 1e-9 of an integer, doubles can't tell which
// side.
inline testing::AssertionResult IsFloorOf(Score score, double value) {
  const double nearest = std::round(value);
  const bool unsure = std::fabs(value - nearest) < 1e-9;
  if (score == std::floor(value) || (unsure && (score == nearest || score == nearest - 1))) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << score << " is not the floor of " << value;
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_POLICY_SCORE_FLOOR_OF_H_
