#include "gpusched/base/quantity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "gpusched/base/rng.h"

namespace gpusched {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CheckedAdd, AddsUpToTheLimitsAndNotBeyond) {
  std::int64_t out = 7;
  EXPECT_TRUE(CheckedAdd(kMax - 1, 1, out));
  EXPECT_EQ(out, kMax);
  EXPECT_TRUE(CheckedAdd(kMin, kMax, out));
  EXPECT_EQ(out, -1);
  EXPECT_FALSE(CheckedAdd(kMax, 1, out));
  EXPECT_FALSE(CheckedAdd(kMin, -1, out));
  EXPECT_EQ(out, -1) << "a refused sum must leave the result alone";
}

TEST(CheckedMul, MultipliesUpToTheLimitsAndNotBeyond) {
  std::int64_t out = 7;
  EXPECT_TRUE(CheckedMul(kMax, -1, out));
  EXPECT_EQ(out, kMin + 1);
  EXPECT_FALSE(CheckedMul(kMin, -1, out));
  EXPECT_FALSE(CheckedMul(std::int64_t{1} << 62, 2, out));
  EXPECT_EQ(out, kMin + 1) << "a refused product must leave the result alone";
  EXPECT_TRUE(CheckedMul(std::int64_t{1} << 61, 2, out));
  EXPECT_EQ(out, std::int64_t{1} << 62);
}

TEST(CheckedArithmetic, AgreesWith128Bits) {
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    // Shifted, so that small and large magnitudes are both common.
    const auto a = static_cast<std::int64_t>(rng.Next()) >> rng.Below(64);
    const auto b = static_cast<std::int64_t>(rng.Next()) >> rng.Below(64);
    const auto fits = [](Wide x) { return x >= kMin && x <= kMax; };
    std::int64_t out = 0;
    ASSERT_EQ(CheckedAdd(a, b, out), fits(Wide{a} + b)) << a << " + " << b;
    ASSERT_EQ(CheckedMul(a, b, out), fits(Wide{a} * b)) << a << " * " << b;
    if (fits(Wide{a} * b)) {
      ASSERT_EQ(out, a * b);
    }
  }
}

struct Case {
  double units;
  std::int64_t milli;
  QuantityError error = QuantityError::kNone;
};

TEST(MilliFromUnits, RoundsOrRefuses) {
  const Case cases[] = {
      {0, 0},
      {-0.0, 0},
      {0.001, 1},
      {0.0014, 1},
      {0.0015, 2},
      {0.0029, 3},
      {0.0058, 6},
      {0.1, 100},
      {1, 1'000},
      {1.5, 1'500},
      {96, 96'000},
      {1099511627.776, kMaxQuantity},
      {kNan, 0, QuantityError::kNotFinite},
      {kInfinity, 0, QuantityError::kNotFinite},
      {-kInfinity, 0, QuantityError::kNotFinite},
      {-0.5, 0, QuantityError::kNegative},
      {-1e-300, 0, QuantityError::kNegative},
      {0.00001, 0, QuantityError::kBelowResolution},
      {0.0003, 0, QuantityError::kBelowResolution},
      {0.00099999, 0, QuantityError::kBelowResolution},
      {1099511627.777, 0, QuantityError::kTooLarge},
      {1e300, 0, QuantityError::kTooLarge},
  };
  for (const Case& c : cases) {
    const MilliResult result = MilliFromUnits(c.units);
    EXPECT_EQ(result.error, c.error) << c.units;
    EXPECT_EQ(result.ok(), c.error == QuantityError::kNone) << c.units;
    EXPECT_EQ(result.milli, c.milli) << c.units;
  }
}

// Whoever writes 0.5005 means that decimal number, whatever binary fraction is nearest to it.
TEST(MilliFromUnits, RoundsEveryFourDigitDecimalHalfUp) {
  for (std::int64_t digits = 10; digits < 10'000; ++digits) {
    const MilliResult result = MilliFromUnits(static_cast<double>(digits) / 10'000);
    ASSERT_TRUE(result.ok()) << digits;
    EXPECT_EQ(result.milli, (digits + 5) / 10) << "of 0." << digits;
  }
}

TEST(MilliFromUnits, GivesBackEveryMilli) {
  Rng rng(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto milli = static_cast<std::int64_t>(rng.Below(kMaxQuantity) >> rng.Below(40)) + 1;
    ASSERT_EQ(MilliFromUnits(static_cast<double>(milli) / 1'000).milli, milli);
  }
}

TEST(MilliFromGpus, TakesPartsOfOneDeviceOrWholeDevices) {
  const Case cases[] = {
      {0, 0},
      {0.18, 180},
      {0.5, 500},
      {0.9999, 1'000},
      {1, 1'000},
      {2, 2'000},
      {8, 8'000},
      {1.5, 0, QuantityError::kNotWhole},
      {1.0001, 0, QuantityError::kNotWhole},
      {kNan, 0, QuantityError::kNotFinite},
      {kInfinity, 0, QuantityError::kNotFinite},
      {-kInfinity, 0, QuantityError::kNotFinite},
      {-0.5, 0, QuantityError::kNegative},
      {-1.5, 0, QuantityError::kNegative},
      {0.00001, 0, QuantityError::kBelowResolution},
      {1e300, 0, QuantityError::kTooLarge},
  };
  for (const Case& c : cases) {
    const MilliResult result = MilliFromGpus(c.units);
    EXPECT_EQ(result.error, c.error) << c.units;
    EXPECT_EQ(result.milli, c.milli) << c.units;
  }
}

}  // namespace
}  // namespace gpusched
