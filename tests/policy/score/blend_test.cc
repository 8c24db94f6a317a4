#include "gpusched/policy/score/blend.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "gpusched/base/quantity.h"

namespace gpusched {
namespace {

TEST(BlendFactor, WorkedNumbers) {
  // Alone, a score of range 100 is stretched a hundredfold.
  EXPECT_EQ(Blend::Factor(1'000, 1'000, {0, 100}), std::int64_t{100} << 32);
  EXPECT_EQ(Blend::Factor(500, 1'000, {0, 100}), std::int64_t{50} << 32);
  EXPECT_EQ(Blend::Factor(500, 1'000, {-50, 50}), std::int64_t{50} << 32)
      << "only the width counts";
  EXPECT_EQ(Blend::Factor(1, 3, {0, 1}), (std::int64_t{10'000} << 32) / 3) << "rounded down";
  EXPECT_EQ(Blend::Factor(1'000, 1'000, {7, 7}), 0) << "one value adds nothing";
  EXPECT_EQ(Blend::Factor(0, 0, {0, 100}), 0);
}

TEST(BlendRound, RoundsHalvesUp) {
  constexpr std::int64_t kOne = std::int64_t{1} << 32;
  EXPECT_EQ(Blend::Round(0), 0);
  EXPECT_EQ(Blend::Round(kOne / 2 - 1), 0);
  EXPECT_EQ(Blend::Round(kOne / 2), 1);
  EXPECT_EQ(Blend::Round(10'000 * kOne), 10'000);
  // Factors are rounded down, so the best sum may lie just below.
  EXPECT_EQ(Blend::Round(10'000 * kOne - 3), 10'000);
}

TEST(BlendWeight, MilliOfAWeightOrNothing) {
  EXPECT_EQ(Blend::WeightMilli(1), 1'000);
  EXPECT_EQ(Blend::WeightMilli(0.8), 800);
  EXPECT_EQ(Blend::WeightMilli(0.001), 1);
  EXPECT_EQ(Blend::WeightMilli(1000), Blend::kMaxWeightMilli);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, 0.0009, 1000.1, kInfinity, -kInfinity,
                           std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(Blend::WeightMilli(bad), 0) << bad;
    EXPECT_NE(Blend::Problem(Blend::WeightMilli(bad)), "") << bad;
  }
}

TEST(BlendWeight, BoundsAreIncluded) {
  EXPECT_EQ(Blend::Problem(1), "");
  EXPECT_EQ(Blend::Problem(1'000'000), "");
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001}}) {
    EXPECT_EQ(Blend::Problem(bad), "a weight must be 0.001 to 1000 (resolution 0.001)");
  }
}

}  // namespace
}  // namespace gpusched
