#include "gpusched/policy/priority/job_order.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "gpusched/state/cluster_state.h"

namespace gpusched {
namespace {

JobRow RowOf(std::int64_t priority, Time submit_time, Time repair_deadline = kNoDeadline) {
  JobRow row;
  row.spec.priority = priority;
  row.submit_time = submit_time;
  row.header.repair_deadline = repair_deadline;
  return row;
}

// Whether the first is served before the second.
bool Before(const JobRow& first, const JobRow& second) {
  const ClusterState state;
  return FifoPriority()(state, first) < FifoPriority()(state, second);
}

TEST(FifoPriority, HigherPriorityIsFirst) {
  EXPECT_TRUE(Before(RowOf(1, 100), RowOf(0, 5)));
  EXPECT_TRUE(Before(RowOf(0, 100), RowOf(-1, 5)));
}

TEST(FifoPriority, AtEqualPriorityRepairsAreFirst) {
  EXPECT_TRUE(Before(RowOf(3, 100, 500), RowOf(3, 5)));
  EXPECT_FALSE(Before(RowOf(2, 100, 500), RowOf(3, 5))) << "but not before higher priority";
}

TEST(FifoPriority, ThenTheOlderOneIsFirst) {
  EXPECT_TRUE(Before(RowOf(3, 5), RowOf(3, 100)));
  EXPECT_TRUE(Before(RowOf(3, 5, 900), RowOf(3, 100, 800))) << "also among repairs";
}

TEST(FifoPriority, OfOneTimeTheKeysAreEqual) {
  const ClusterState state;
  EXPECT_EQ(FifoPriority()(state, RowOf(3, 5)), FifoPriority()(state, RowOf(3, 5)));
}

// Fewest tasks first.
struct SmallestFirst {
  JobKey operator()(const StateView& view, const JobRow& job) const {
    return {job.groups.empty() ? 0 : job.groups[0].count, view.now(), 0, 0};
  }
};

TEST(AnyJobOrder, IsFifoPriorityByDefault) {
  const ClusterState state;
  EXPECT_EQ(AnyJobOrder()(state, RowOf(3, 5)), FifoPriority()(state, RowOf(3, 5)));
}

TEST(AnyJobOrder, HoldsAnOrderOfYourOwn) {
  static_assert(JobOrder<SmallestFirst> && JobOrder<AnyJobOrder> && JobOrder<FifoPriority>);
  const ClusterState state;
  const AnyJobOrder order = SmallestFirst{};
  JobRow row;
  row.groups.resize(1);
  row.groups[0].count = 7;
  EXPECT_EQ(order(state, row), (JobKey{7, 0, 0, 0}));
  const AnyJobOrder copy = order;
  EXPECT_EQ(copy(state, row), (JobKey{7, 0, 0, 0}));
}

}  // namespace
}  // namespace gpusched
