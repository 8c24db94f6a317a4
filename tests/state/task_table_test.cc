#include "gpusched/state/task_table.h"

#include <gtest/gtest.h>

namespace gpusched {
namespace {

TEST(TaskTable, ReusesSlotsAndMakesHandlesStale) {
  TaskTable tasks;
  const TaskRow row{.shape = {.slot = 7}, .placement = {}};
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
  EXPECT_EQ(tasks.Insert({.shape = {.slot = 8}, .placement = {}}), 0U);
  EXPECT_FALSE(tasks.Has(first));
  EXPECT_EQ(tasks[0].shape.slot, 8U);
  EXPECT_EQ(tasks.slots(), 2U);
  EXPECT_FALSE(tasks.live(2));
  EXPECT_FALSE(tasks.Has(TaskId()));
}

}  // namespace
}  // namespace gpusched
