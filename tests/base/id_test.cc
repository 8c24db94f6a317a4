#include "gpusched/base/id.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace gpusched {
namespace {

TEST(Id, DefaultIsNobodys) {
  EXPECT_FALSE(NodeId().has_value());
  EXPECT_TRUE((NodeId{.slot = 0}).has_value());
}

TEST(Id, EqualOnlyWithTheSameGeneration) {
  const TaskId first{.slot = 3, .generation = 0};
  const TaskId second{.slot = 3, .generation = 1};
  EXPECT_NE(first, second);
  EXPECT_EQ(first, (TaskId{.slot = 3, .generation = 0}));
}

TEST(Id, OrdersBySlotThenGeneration) {
  EXPECT_LT((NodeId{.slot = 1, .generation = 9}), (NodeId{.slot = 2, .generation = 0}));
  EXPECT_LT((NodeId{.slot = 2, .generation = 0}), (NodeId{.slot = 2, .generation = 1}));
}

TEST(Id, KindsDoNotConvert) {
  static_assert(!std::is_convertible_v<NodeId, TaskId>);
  static_assert(!std::is_convertible_v<TaskId, ShapeId>);
  static_assert(!std::is_convertible_v<int, NodeId>);
  static_assert(sizeof(NodeId) == 8 && std::is_trivially_copyable_v<NodeId>);
}

}  // namespace
}  // namespace gpusched
