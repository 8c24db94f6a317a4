// Small situations in which other schedulers went wrong, under their ids; here with what is right.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/rng.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/spec/validate.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

// Each situation that is about where tasks land is tried with every built-in policy.
class EveryPolicy : public testing::TestWithParam<std::string> {
 protected:
  AnyScore Policy() {
    auto score =
        ScoreRegistry::BuiltIn().Build(GetParam(), {.target = target, .norms = {}}, cluster.state);
    EXPECT_TRUE(score.ok()) << score.status().ToString();
    return *std::move(score);
  }

  TestCluster cluster;
  TargetWorkload target = TargetWorkload::FromRequests(
      std::vector<ShapeSpec>{ShareOf(180), ShareOf(600), WholeGpus(1), WholeGpus(8)});
};

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryPolicy, testing::ValuesIn(ScoreRegistry::BuiltIn().names()),
                         [](const auto& parameter) { return parameter.param; });

// A device that reports no capacity at all is never chosen, and no score divides by it.
TEST_P(EveryPolicy, S01_ADeviceWithoutCapacityIsNeverChosen) {
  NodeSpec sick = GpuNode("n1", 1);
  sick.devices[0].gpu_milli = 0;
  sick.devices[0].gpu_mem_mib = 0;
  cluster.AddNode(sick);
  NodeSpec healthy = GpuNode("n2", 1);
  healthy.devices[0].gpu_mem_mib = 16'384;
  const NodeId n2 = cluster.AddNode(healthy);
  Scheduler scheduler(cluster.state, Policy());
  ShapeSpec ask = WholeGpus(1);
  ask.gpu_mem_mib = 1'000;
  EXPECT_EQ(scheduler.Place("j", cluster.Intern(ask))->placement.node, n2);
  EXPECT_EQ(scheduler.Place("k", cluster.Intern(ShareOf(1)))->kind, DecisionKind::kWait)
      << "n2 is full, n1 is no place";
}

// Feasibility is a matter of single devices: 16 devices take five shares of 0.18 each, no more.
TEST_P(EveryPolicy, S16_SharesFillDevicesNotSums) {
  std::vector<NodeId> nodes;
  for (const char* name : {"n1", "n2"}) nodes.push_back(cluster.AddNode(GpuNode(name, 8)));
  Scheduler scheduler(cluster.state, Policy());
  const ShapeId share = cluster.Intern(ShareOf(180));
  for (int i = 0; i < 80; ++i) {
    const auto decision = scheduler.Place("t" + std::to_string(i), share);
    ASSERT_TRUE(decision.ok() && decision->placed()) << i;
  }
  for (const NodeId node : nodes) {
    EXPECT_EQ(cluster.node(node).tasks(TaskKind::kShare), 40U);
    for (const DeviceLedger& device : cluster.node(node).device_ledgers()) {
      EXPECT_EQ(device.used.gpu_milli, 900);
    }
  }
  // Sixteen times 100 milli are free, but no device has 180.
  EXPECT_EQ(scheduler.Place("one more", share)->kind, DecisionKind::kWait);
}

TEST_P(EveryPolicy, S16_LargeSharesTakeADeviceEach) {
  std::vector<NodeId> nodes;
  for (const char* name : {"n1", "n2"}) nodes.push_back(cluster.AddNode(GpuNode(name, 8)));
  Scheduler scheduler(cluster.state, Policy());
  const ShapeId share = cluster.Intern(ShareOf(600));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(scheduler.Place("t" + std::to_string(i), share)->placed()) << i;
  }
  for (const NodeId node : nodes) {
    EXPECT_LE(cluster.node(node).tasks(TaskKind::kShare), 8U);
    for (const DeviceLedger& device : cluster.node(node).device_ledgers()) {
      EXPECT_LE(device.used.gpu_milli, 600);
    }
  }
}

// Ten tenths are one, in any order of release, a thousand times over.
TEST(Scenarios, S14_TenthsAddUpExactly) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 1));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId tenth = cluster.Intern(ShareOf(MilliFromGpus(0.1).milli));
  const std::uint64_t hash = cluster.hash();
  Rng rng(14);
  for (int round = 0; round < 1'000; ++round) {
    std::array<TaskId, 10> tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::string name = "t" + std::to_string(i);
      ASSERT_TRUE(scheduler.Place(name, tenth)->placed());
      tasks[i] = *cluster.state.FindTask(name);
    }
    ASSERT_EQ(cluster.node(node).gpu_free_milli(), 0);
    ASSERT_EQ(scheduler.Place("eleventh", tenth)->kind, DecisionKind::kWait);
    rng.Shuffle(std::span<TaskId>(tasks));
    for (const TaskId task : tasks) ASSERT_TRUE(IsOk(scheduler.Release(task)));
    ASSERT_EQ(cluster.node(node).gpu_free_milli(), 1'000);
    ASSERT_EQ(cluster.node(node).whole_free(), 1U);
    ASSERT_EQ(cluster.hash(), hash);
  }
}

TEST(Scenarios, S15_FinerThanAMilliIsRefusedAndTheRestRoundedOnce) {
  EXPECT_TRUE(Refused(GpuAskFromGpus(0.00001), Code::kInvalidArgument, {"gpu", "0.001"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(0.0003), Code::kInvalidArgument, {"gpu", "0.001"}));
  EXPECT_EQ(GpuAskFromGpus(0.0029)->milli, 3);
  EXPECT_EQ(GpuAskFromGpus(0.0058)->milli, 6);
}

TEST(Scenarios, S18_NumbersThatAreNoAskAreRefused) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -0.5, 1.5}) {
    EXPECT_TRUE(Refused(GpuAskFromGpus(bad), Code::kInvalidArgument, {"gpu is"})) << bad;
  }
}

TEST(Scenarios, S19_WhatWouldOverflowIsRefusedByNameWithTheLimit) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("n1", 8));
  const std::uint64_t hash = cluster.hash();
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_TRUE(Refused(cluster.state.Intern(CpuTask(1, huge)), Code::kInvalidArgument,
                      {"mem_mib is 4611686018427387904", "1099511627776"}));
  EXPECT_TRUE(Refused(cluster.state.Intern(WholeGpus(std::numeric_limits<std::int64_t>::max())),
                      Code::kInvalidArgument, {"gpu_count is 9223372036854775807", "64"}));
  EXPECT_EQ(cluster.hash(), hash);
}

// The second notice of the same end frees nothing.
TEST(Scenarios, S21_ATaskEndsOnce) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("n1", 1, "T4", 2'000));
  Scheduler scheduler(cluster.state, BestFit());
  ASSERT_TRUE(scheduler.Place("j", cluster.Intern(CpuTask(1'000)))->placed());
  const TaskId j = *cluster.state.FindTask("j");
  EXPECT_TRUE(IsOk(scheduler.Release(j)));
  EXPECT_TRUE(Refused(scheduler.Release(j), Code::kNotFound));
  const ShapeId large = cluster.Intern(CpuTask(1'500));
  EXPECT_TRUE(scheduler.Place("a", large)->placed());
  EXPECT_TRUE(Refused(scheduler.Release(j), Code::kNotFound)) << "not even when the slot is reused";
  EXPECT_EQ(scheduler.Place("b", large)->kind, DecisionKind::kWait);
}

TEST(Scenarios, S22_AFailedAllocationGivesEverythingBack) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n1", 1, "T4", 4'000);
  spec.mem_mib = 10;
  const NodeId node = cluster.AddNode(spec);
  ShapeSpec ask = WholeGpus(2, 2'000);
  ask.mem_mib = 1;
  const ShapeId shape = cluster.Intern(ask);
  const std::uint64_t hash = cluster.hash();
  {
    Transaction transaction(cluster.state);
    EXPECT_TRUE(Refused(transaction.Place("t", shape, {node, Devices({0, 1})}),
                        Code::kFailedPrecondition, {"devices[1]"}));
    transaction.Commit();
  }
  EXPECT_EQ(Scheduler(cluster.state, BestFit()).Place("t", shape)->kind, DecisionKind::kReject);
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_EQ(cluster.node(node).cpu_free(), 4'000);
  EXPECT_EQ(cluster.node(node).mem_free(), 10);
  EXPECT_EQ(cluster.node(node).gpu_free_milli(), 1'000);
}

TEST(Scenarios, S26_ANodeIsAddedOnce) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("n1", 2));
  const std::uint64_t hash = cluster.hash();
  for (int i = 0; i < 3; ++i) {
    Transaction transaction(cluster.state);
    EXPECT_TRUE(Refused(transaction.AddNode(GpuNode("n1", 2)), Code::kAlreadyExists, {"'n1'"}));
    transaction.Commit();
  }
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_EQ(cluster.state.capacity()[ResourceKind::kGpuMilli], 2'000);
}

TEST(Scenarios, S27_ASecondTaskOfTheSameNameIsRefused) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("n1", 8));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId shape = cluster.Intern(WholeGpus(1));
  ASSERT_TRUE(scheduler.Place("j", shape)->placed());
  const std::uint64_t hash = cluster.hash();
  EXPECT_TRUE(Refused(scheduler.Place("j", shape), Code::kAlreadyExists, {"'j'"}));
  EXPECT_EQ(cluster.hash(), hash);
}

// What fits nowhere is a matter of the cluster as it is; a node that joins changes it.
TEST(Scenarios, S53_ANodeThatJoinsIsSeen) {
  TestCluster cluster;
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId eight = cluster.Intern(WholeGpus(8));
  EXPECT_EQ(scheduler.Place("t", eight)->kind, DecisionKind::kWait);
  cluster.AddNode(GpuNode("small", 2));
  EXPECT_EQ(scheduler.Place("t", eight)->kind, DecisionKind::kReject);
  cluster.AddNode(GpuNode("large", 8));
  EXPECT_TRUE(scheduler.Place("t", eight)->placed());
}

// Scores by node, all negative.
struct Negative {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {-10, 0}; }
  Score operator()(const NodeView& node, const Shape&, DeviceMask) const {
    return std::array<Score, 3>{-8, -5, -10}[node.slot()];
  }
};

TEST(Scenarios, S59_TheBestMayScoreZeroOrLess) {
  TestCluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.AddNode(GpuNode(name, 3));
  const ShapeId two = cluster.Intern(WholeGpus(2));
  const auto zero = BasicScheduler(cluster.state, FirstFit()).Decide(two);
  ASSERT_TRUE(zero.ok() && zero->placed());
  EXPECT_EQ(zero->placement.devices, Devices({0, 1}));
  const auto negative = BasicScheduler(cluster.state, Negative()).Decide(two);
  ASSERT_TRUE(negative.ok() && negative->placed());
  EXPECT_EQ(negative->placement.node, cluster.state.FindNode("b"));
  EXPECT_EQ(negative->score, -5);
}

// Twenty pending tasks on ten equal nodes: the same story every time it is told.
TEST_P(EveryPolicy, S61_TheSameInputsGiveTheSameDecisionsTextsAndHash) {
  std::string first;
  for (int run = 0; run < 10; ++run) {
    TestCluster again;
    for (int i = 0; i < 10; ++i) again.AddNode(GpuNode("n" + std::to_string(i), 2));
    Scheduler scheduler(again.state, *ScoreRegistry::BuiltIn().Build(
                                         GetParam(), {.target = target, .norms = {}}, again.state));
    std::string story;
    for (int i = 0; i < 20; ++i) {
      const ShapeId shape = again.Intern(i % 3 == 0 ? WholeGpus(2) : ShareOf(600));
      const auto decision = scheduler.Place("t" + std::to_string(i), shape);
      ASSERT_TRUE(decision.ok());
      story += decision->placed() ? std::string(again.state.node_name(decision->placement.node)) +
                                        "/" + std::to_string(decision->placement.devices.bits())
                                  : RefusalText(again.state, decision->refusal);
      story += ";";
    }
    story += std::to_string(again.hash());
    if (run == 0) first = story;
    ASSERT_EQ(story, first);
  }
}

}  // namespace
}  // namespace gpusched
