#include "gpusched/policy/score/norms.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "gpusched/base/rng.h"

namespace gpusched {
namespace {

TEST(ScoreNorms, BoundsAreIncludedAndNamed) {
  EXPECT_EQ(ScoreNorms().problem(), "");
  EXPECT_EQ((ScoreNorms{.cpu_milli = 1, .gpu_milli = 1}).problem(), "");
  EXPECT_EQ((ScoreNorms{.cpu_milli = 16'777'216, .gpu_milli = 131'072}).problem(), "");
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{16'777'217}}) {
    const auto text = ScoreNorms{.cpu_milli = bad}.problem();
    EXPECT_NE(text.find("norms.cpu_milli must be 1 to 16777216"), std::string_view::npos) << bad;
  }
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{131'073}}) {
    const auto text = ScoreNorms{.gpu_milli = bad}.problem();
    EXPECT_NE(text.find("norms.gpu_milli must be 1 to 131072"), std::string_view::npos) << bad;
  }
}

TEST(ScoredCpu, CountsUnaskedCpuAs100Milli) {
  EXPECT_EQ(ScoredCpu(Shape{.cpu_milli = 0}), 100);
  EXPECT_EQ(ScoredCpu(Shape{.cpu_milli = 1}), 1);
  EXPECT_EQ(ScoredCpu(Shape{.cpu_milli = 4'000}), 4'000);
}

TEST(SaturatingRatio, RoundsDownWithinTheRange) {
  EXPECT_EQ(SaturatingRatio(7, 2, {0, 100}), 3);
  EXPECT_EQ(SaturatingRatio(-7, 2, {-100, 100}), -4) << "down, not towards zero";
  EXPECT_EQ(SaturatingRatio(-7, 2, {0, 100}), 0);
  EXPECT_EQ(SaturatingRatio(700, 2, {0, 100}), 100);
  EXPECT_EQ(SaturatingRatio(200, 2, {0, 100}), 100);
  EXPECT_EQ(SaturatingRatio(199, 2, {0, 100}), 99);
}

TEST(SaturatingRatio, NarrowAndWideDivisionAgree) {
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto numerator = static_cast<std::int64_t>(rng.Next()) >> rng.Below(40);
    const auto denominator = static_cast<std::int64_t>(rng.Next() >> (14 + rng.Below(48))) + 1;
    const Wide scale = Wide{1} << 62;  // the same ratio, too large for 64 bits
    ASSERT_EQ(SaturatingRatio(numerator, denominator, {-50, 100}),
              SaturatingRatio(numerator * scale, denominator * scale, {-50, 100}))
        << numerator << " / " << denominator;
  }
}

}  // namespace
}  // namespace gpusched
