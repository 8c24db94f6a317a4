#include "gpusched/spec/task_kind.h"

#include <gtest/gtest.h>

namespace gpusched {
namespace {

TEST(TaskKind, FollowsCountAndShare) {
  EXPECT_EQ(KindOf(0, 0), TaskKind::kCpuOnly);
  EXPECT_EQ(KindOf(1, 1), TaskKind::kShare);
  EXPECT_EQ(KindOf(1, 999), TaskKind::kShare);
  EXPECT_EQ(KindOf(1, 1000), TaskKind::kOne);
  EXPECT_EQ(KindOf(2, 1000), TaskKind::kTwo);
  EXPECT_EQ(KindOf(4, 1000), TaskKind::kFour);
  EXPECT_EQ(KindOf(8, 1000), TaskKind::kEight);
  for (const int count : {3, 5, 6, 7, 9, 64}) EXPECT_EQ(KindOf(count, 1000), TaskKind::kOther);
  EXPECT_EQ(static_cast<std::size_t>(TaskKind::kOther) + 1, kTaskKinds);
}

}  // namespace
}  // namespace gpusched
