#include "gpusched/state/shape.h"

#include <gtest/gtest.h>

namespace gpusched {
namespace {

TEST(Shape, TellsNothingPartAndWholeApart) {
  const Shape none{.cpu_milli = 1};
  EXPECT_FALSE(none.asks_gpu());
  EXPECT_FALSE(none.shares());
  EXPECT_EQ(none.gpu_milli_total(), 0);
  EXPECT_EQ(none.kind(), TaskKind::kCpuOnly);
  const Shape part{.gpu_milli = 999, .gpu_count = 1};
  EXPECT_TRUE(part.asks_gpu());
  EXPECT_TRUE(part.shares());
  EXPECT_EQ(part.kind(), TaskKind::kShare);
  const Shape one{.gpu_milli = 1'000, .gpu_count = 1};
  EXPECT_FALSE(one.shares());
  const Shape eight{.gpu_milli = 1'000, .gpu_count = 8};
  EXPECT_FALSE(eight.shares());
  EXPECT_EQ(eight.gpu_milli_total(), 8'000);
  EXPECT_EQ(eight.kind(), TaskKind::kEight);
}

TEST(Shape, AnyModelHasEveryBit) {
  for (std::uint32_t model = 0; model < kMaxModels; ++model) {
    EXPECT_EQ((Shape().models >> model) & 1, 1U);
  }
}

}  // namespace
}  // namespace gpusched
