#include "gpusched/state/job_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/rng.h"
#include "job_specs.h"

namespace gpusched {
namespace {

JobRow RowOf(const JobSpec& spec) {
  JobRow row;
  row.spec = spec;
  row.groups.resize(spec.groups.size());
  for (std::uint32_t i = 0; i < row.groups.size(); ++i) row.SetGroup(i, ShapeId());
  return row;
}

void SetPhase(JobRow& row, std::uint32_t index, TaskPhase phase) {
  TaskState task = row.groups[0].tasks[index];
  task.phase = phase;
  row.SetTask(0, index, task);
}

JobSpec WithMinimum(std::int64_t count, std::int64_t minimum) {
  JobSpec spec = Gang("j", count, CpuTask(1));
  spec.groups[0].min_available = minimum;
  return spec;
}

TEST(TaskPhase, HasAStableTextAndSaysWhetherItHoldsCapacity) {
  EXPECT_EQ(TaskPhaseName(TaskPhase::kPending), "pending");
  EXPECT_EQ(TaskPhaseName(TaskPhase::kAssumed), "assumed");
  EXPECT_EQ(TaskPhaseName(TaskPhase::kRunning), "running");
  EXPECT_EQ(TaskPhaseName(TaskPhase::kEvicting), "evicting");
  EXPECT_EQ(TaskPhaseName(TaskPhase::kFinished), "finished");
  EXPECT_FALSE(IsPlaced(TaskPhase::kPending));
  EXPECT_TRUE(IsPlaced(TaskPhase::kAssumed));
  EXPECT_TRUE(IsPlaced(TaskPhase::kRunning));
  EXPECT_TRUE(IsPlaced(TaskPhase::kEvicting));
  EXPECT_FALSE(IsPlaced(TaskPhase::kFinished));
}

TEST(GroupState, WhatIsBeingEvictedHoldsButIsNotPresent) {
  JobRow row = RowOf(WithMinimum(4, 3));
  SetPhase(row, 0, TaskPhase::kAssumed);
  SetPhase(row, 1, TaskPhase::kRunning);
  SetPhase(row, 2, TaskPhase::kEvicting);
  SetPhase(row, 3, TaskPhase::kFinished);
  EXPECT_EQ(row.groups[0].present(), 3);
  EXPECT_EQ(row.groups[0].missing(), 0);
  EXPECT_EQ(row.groups[0].placed(), 3);
  SetPhase(row, 1, TaskPhase::kPending);
  EXPECT_EQ(row.groups[0].present(), 2);
  EXPECT_EQ(row.groups[0].missing(), 1);
  EXPECT_EQ(row.groups[0].wanted_in(TaskPhase::kPending), 1);
}

TEST(JobRow, IsWholeIfEachGroupHasItsMinimum) {
  JobSpec spec = Job("j", {Group("a", 2, CpuTask(1)), Group("b", 1, CpuTask(1))});
  spec.groups[0].min_available = 1;
  JobRow row = RowOf(spec);
  EXPECT_FALSE(row.whole());
  SetPhase(row, 0, TaskPhase::kRunning);
  EXPECT_FALSE(row.whole()) << "b lacks its task";
  TaskState task;
  task.phase = TaskPhase::kAssumed;
  row.SetTask(1, 0, task);
  EXPECT_TRUE(row.whole());
}

TEST(JobRow, WithoutAnyTaskItIsWholeAndHasFinished) {
  const JobRow row = RowOf(Gang("j", 0, CpuTask(1)));
  EXPECT_TRUE(row.whole());
  EXPECT_TRUE(row.all_finished());
  EXPECT_FALSE(row.holds_something());
  EXPECT_FALSE(row.bound());
}

TEST(JobRow, IsBoundByPlacedAndFinishedTasks) {
  JobRow row = RowOf(Gang("j", 2, CpuTask(1)));
  EXPECT_FALSE(row.bound());
  SetPhase(row, 1, TaskPhase::kAssumed);
  EXPECT_TRUE(row.bound());
  EXPECT_TRUE(row.holds_something());
  SetPhase(row, 1, TaskPhase::kFinished);
  EXPECT_TRUE(row.bound());
  EXPECT_FALSE(row.holds_something());
  SetPhase(row, 1, TaskPhase::kPending);
  EXPECT_FALSE(row.bound());
}

TEST(JobRow, HasFinishedWhenEachWantedTaskHas) {
  JobRow row = RowOf(WithMinimum(2, 0));
  SetPhase(row, 0, TaskPhase::kFinished);
  EXPECT_FALSE(row.all_finished());
  SetPhase(row, 1, TaskPhase::kFinished);
  EXPECT_TRUE(row.all_finished());
}

TEST(JobRow, TasksThatAreNotWantedAnyMoreAreCountedApart) {
  JobRow row = RowOf(WithMinimum(3, 0));
  SetPhase(row, 0, TaskPhase::kFinished);
  SetPhase(row, 1, TaskPhase::kRunning);
  SetPhase(row, 2, TaskPhase::kFinished);
  row.spec.groups[0].count = 1;
  row.SetGroup(0, ShapeId());
  const GroupState& group = row.groups[0];
  EXPECT_EQ(group.tasks.size(), 3U) << "they may still run";
  EXPECT_EQ(group.wanted_in(TaskPhase::kFinished), 1);
  EXPECT_EQ(group.surplus_placed, 1);
  EXPECT_EQ(group.surplus_finished, 1);
  EXPECT_EQ(group.placed(), 1);
  EXPECT_TRUE(row.all_finished());
  EXPECT_TRUE(row.holds_something());
  SetPhase(row, 1, TaskPhase::kPending);
  EXPECT_EQ(group.surplus_placed, 0);
  SetPhase(row, 2, TaskPhase::kPending);
  EXPECT_EQ(group.surplus_finished, 0);
  SetPhase(row, 0, TaskPhase::kPending);
  EXPECT_FALSE(row.bound());
}

TEST(JobRow, NewTasksBeginAtTheFirstAttemptOfTheAlternativeAndOldOnesKeepTheirs) {
  JobRow row = RowOf(WithMinimum(1, 0));
  row.spec.groups[0].count = 3;
  row.first_attempt = 7;
  row.SetGroup(0, {.slot = 4});
  EXPECT_EQ(row.groups[0].shape.slot, 4U);
  EXPECT_EQ(row.groups[0].tasks[0].attempt, 1);
  EXPECT_EQ(row.groups[0].tasks[1].attempt, 7);
  EXPECT_EQ(row.groups[0].tasks[2].attempt, 7);
  EXPECT_EQ(row.groups[0].wanted_in(TaskPhase::kPending), 3);
}

TEST(JobRow, TheMinimumIsTheCountOfABatchJobAndOneOfAService) {
  EXPECT_EQ(RowOf(Gang("j", 3, CpuTask(1))).groups[0].min_available, 3);
  EXPECT_EQ(RowOf(Service("j", 3, CpuTask(1))).groups[0].min_available, 1);
  EXPECT_EQ(RowOf(Service("j", 0, CpuTask(1))).groups[0].min_available, 0);
}

TEST(JobRow, CountersAgreeWithACountAfterEveryChange) {
  Rng rng(1);
  JobRow row = RowOf(WithMinimum(4, 2));
  for (int step = 0; step < 2'000; ++step) {
    GroupState& group = row.groups[0];
    if (rng.Below(10) == 0) {
      row.spec.groups[0].count = static_cast<std::int64_t>(rng.Below(8));
      row.SetGroup(0, ShapeId());
    } else {
      SetPhase(row, static_cast<std::uint32_t>(rng.Below(group.tasks.size())),
               static_cast<TaskPhase>(rng.Below(kTaskPhases)));
    }
    GroupState counted = group;
    counted.wanted = {};
    counted.surplus_placed = counted.surplus_finished = 0;
    for (std::size_t i = 0; i < group.tasks.size(); ++i) {
      const TaskPhase phase = group.tasks[i].phase;
      if (static_cast<std::int64_t>(i) < group.count) {
        ++counted.wanted[static_cast<std::size_t>(phase)];
      } else {
        counted.surplus_placed += IsPlaced(phase) ? 1 : 0;
        counted.surplus_finished += phase == TaskPhase::kFinished ? 1 : 0;
      }
    }
    ASSERT_EQ(group.wanted, counted.wanted) << step;
    ASSERT_EQ(group.surplus_placed, counted.surplus_placed) << step;
    ASSERT_EQ(group.surplus_finished, counted.surplus_finished) << step;
  }
}

TEST(JobRow, ALabelIsMatchedAsAWhole) {
  JobRow row;
  row.spec.labels = {{.key = "team", .value = "a"}};
  EXPECT_TRUE(row.has_label({.key = "team", .value = "a"}));
  EXPECT_FALSE(row.has_label({.key = "team", .value = "b"}));
  EXPECT_FALSE(row.has_label({.key = "a", .value = "team"}));
}

TEST(JobRow, GroupSpecsAreThoseOfItsAlternative) {
  JobRow row = RowOf(Gang("j", 1, CpuTask(1)));
  row.spec.alternatives = {{Group("other", 2, CpuTask(2))}};
  EXPECT_EQ(row.group_specs()[0].name, "main");
  row.alternative = 1;
  EXPECT_EQ(row.group_specs()[0].name, "other");
}

TEST(JobTable, ReusesSlotsAndMakesHandlesStale) {
  JobTable jobs;
  EXPECT_EQ(jobs.Insert(RowOf(Gang("a", 1, CpuTask(1)))), 0U);
  EXPECT_EQ(jobs.Insert(RowOf(Gang("b", 1, CpuTask(1)))), 1U);
  const JobId first = jobs.id(0);
  EXPECT_TRUE(jobs.Has(first));
  EXPECT_EQ(jobs.size(), 2U);

  jobs.Detach(0);
  EXPECT_FALSE(jobs.Has(first));
  EXPECT_EQ(jobs.size(), 1U);
  jobs.Reattach(0);
  EXPECT_TRUE(jobs.Has(first)) << "put back before it was recycled";

  jobs.Detach(0);
  jobs.Recycle(0);
  EXPECT_EQ(jobs.Insert(RowOf(Gang("c", 1, CpuTask(1)))), 0U);
  EXPECT_FALSE(jobs.Has(first));
  EXPECT_EQ(jobs[0].spec.name, "c");
  EXPECT_EQ(jobs.slots(), 2U);
  EXPECT_FALSE(jobs.live(2));
  EXPECT_FALSE(jobs.Has(JobId()));
}

TEST(JobTable, CountsLiveJobsThatMindOthers) {
  JobTable jobs;
  JobSpec minds = Gang("a", 1, CpuTask(1));
  minds.anti_affinity = {{.key = "team", .value = "b"}};
  const std::uint32_t slot = jobs.Insert(RowOf(minds));
  jobs.Insert(RowOf(Gang("b", 1, CpuTask(1))));
  EXPECT_EQ(jobs.with_anti_affinity(), 1U);
  jobs.Detach(slot);
  EXPECT_EQ(jobs.with_anti_affinity(), 0U);
  jobs.Reattach(slot);
  EXPECT_EQ(jobs.with_anti_affinity(), 1U);
}

}  // namespace
}  // namespace gpusched
