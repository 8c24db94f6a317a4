#include "gpusched/state/task_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpusched {
namespace {

TEST(TaskTable, ReusesSlotsAndMakesHandlesStale) {
  TaskTable tasks;
  const Placement placement{.node = {.slot = 3}, .devices = {}};
  const TaskRow row{.shape = {.slot = 7}, .placement = placement, .owner = {}};
  EXPECT_EQ(tasks.Insert(row), 0U);
  EXPECT_EQ(tasks.Insert(row), 1U);
  EXPECT_EQ(tasks.size(), 2U);
  const TaskId first = tasks.id(0);
  EXPECT_TRUE(tasks.Has(first));

  tasks.Detach(0);
  EXPECT_FALSE(tasks.Has(first));
  EXPECT_EQ(tasks.size(), 1U);
  tasks.Reattach(0);
  EXPECT_TRUE(tasks.Has(first)) << "put back before it was recycled";

  tasks.Detach(0);
  tasks.Recycle(0);
  EXPECT_EQ(tasks.Insert({.shape = {.slot = 8}, .placement = placement, .owner = {}}), 0U);
  EXPECT_FALSE(tasks.Has(first));
  EXPECT_EQ(tasks[0].shape.slot, 8U);
  EXPECT_EQ(tasks.slots(), 2U);
  EXPECT_FALSE(tasks.live(2));
  EXPECT_FALSE(tasks.Has(TaskId()));
}

TEST(TaskTable, ListsTheTasksOfEachNode) {
  TaskTable tasks;
  const auto on = [](std::uint32_t node) {
    return TaskRow{.shape = {}, .placement = {.node = {.slot = node}, .devices = {}}, .owner = {}};
  };
  for (const std::uint32_t node : {1U, 0U, 1U, 1U}) tasks.Insert(on(node));
  const auto listed = [&](std::uint32_t node) {
    std::vector<std::uint32_t> slots(tasks.on_node(node).begin(), tasks.on_node(node).end());
    std::sort(slots.begin(), slots.end());
    return slots;
  };
  using Slots = std::vector<std::uint32_t>;
  EXPECT_EQ(listed(0), Slots{1});
  EXPECT_EQ(listed(1), (Slots{0, 2, 3}));
  EXPECT_EQ(listed(7), Slots());
  tasks.Detach(2);
  tasks.Detach(0);
  EXPECT_EQ(listed(1), Slots{3});
  tasks.Reattach(0);
  EXPECT_EQ(listed(1), (Slots{0, 3}));
}

}  // namespace
}  // namespace gpusched
