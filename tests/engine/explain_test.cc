#include "gpusched/engine/explain.h"

#include <gtest/gtest.h>

#include <string>

#include "cluster_fixture.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/score/first_fit.h"

namespace gpusched {
namespace {

NodeId NodeAt(std::uint32_t slot) { return {.slot = slot, .generation = 0}; }

Shortfall Lacks(Reason reason, std::int64_t need, std::int64_t have) {
  return {.verdict = Verdict::Wait(reason), .need = need, .have = have};
}

TEST(RefusalBuilder, WithoutNodesSaysSo) {
  const Refusal refusal = RefusalBuilder().Finish();
  EXPECT_EQ(refusal.dominant(), Reason::kNoNodes);
  EXPECT_EQ(refusal.outcome, Outcome::kWait) << "a node that joins may help";
  EXPECT_FALSE(refusal.nearest.has_value());
}

TEST(RefusalBuilder, CountsEachNodeUnderEachFilterThatRefused) {
  RefusalBuilder builder;
  builder.BeginNode(NodeAt(0));
  builder.Add({});
  builder.Add(Lacks(Reason::kInsufficientCpu, 10, 1));
  builder.Add(Lacks(Reason::kNoDeviceWithRoom, 10, 0));
  builder.BeginNode(NodeAt(1));
  builder.Add(Lacks(Reason::kNoDeviceWithRoom, 10, 0));
  builder.BeginNode(NodeAt(2));
  builder.Add(Lacks(Reason::kInsufficientCpu, 10, 0));
  const Refusal refusal = builder.Finish();
  EXPECT_EQ(refusal.count(Reason::kInsufficientCpu), 2U);
  EXPECT_EQ(refusal.count(Reason::kNoDeviceWithRoom), 2U);
  EXPECT_EQ(refusal.count(Reason::kNone), 0U);
}

TEST(RefusalBuilder, NearestFailsOnTheFewestThenLacksTheSmallestShare) {
  RefusalBuilder builder;
  builder.BeginNode(NodeAt(0));  // two filters, though little is lacking
  builder.Add(Lacks(Reason::kInsufficientCpu, 100, 99));
  builder.Add(Lacks(Reason::kInsufficientMemory, 100, 99));
  builder.BeginNode(NodeAt(1));  // half
  builder.Add(Lacks(Reason::kInsufficientCpu, 1'000'000, 500'000));
  builder.BeginNode(NodeAt(2));  // a quarter
  builder.Add(Lacks(Reason::kNoDeviceWithRoom, 4, 3));
  builder.BeginNode(NodeAt(3));  // a quarter as well, but later
  builder.Add(Lacks(Reason::kInsufficientCpu, 400, 300));
  const Refusal refusal = builder.Finish();
  EXPECT_EQ(refusal.nearest, NodeAt(2));
  EXPECT_EQ(refusal.dominant(), Reason::kNoDeviceWithRoom);
  EXPECT_EQ(refusal.shortfall.need, 4);
  EXPECT_EQ(refusal.shortfall.have, 3);
}

TEST(RefusalBuilder, ANodeIsAsNearAsItsWorstShortfall) {
  RefusalBuilder builder;
  builder.BeginNode(NodeAt(0));
  builder.Add(Lacks(Reason::kInsufficientCpu, 100, 90));
  builder.Add(Lacks(Reason::kInsufficientMemory, 100, 20));
  builder.BeginNode(NodeAt(1));
  builder.Add(Lacks(Reason::kInsufficientCpu, 100, 50));
  builder.Add(Lacks(Reason::kInsufficientMemory, 100, 60));
  const Refusal refusal = builder.Finish();
  EXPECT_EQ(refusal.nearest, NodeAt(1));
  EXPECT_EQ(refusal.dominant(), Reason::kInsufficientCpu);
}

TEST(RefusalBuilder, WithoutNumbersAllIsLacking) {
  RefusalBuilder builder;
  builder.BeginNode(NodeAt(0));
  builder.Add({.verdict = Verdict::Never(Reason::kModelNotAllowed)});
  builder.BeginNode(NodeAt(1));
  builder.Add(Lacks(Reason::kInsufficientCpu, 1'000, 1));
  EXPECT_EQ(builder.Finish().nearest, NodeAt(1));
}

TEST(RefusalBuilder, NeverOnlyIfEveryNodeSaysSo) {
  const Shortfall never{.verdict = Verdict::Never(Reason::kInsufficientCpu), .need = 9, .have = 1};
  const Shortfall wait = Lacks(Reason::kInsufficientMemory, 9, 1);
  RefusalBuilder all;
  all.BeginNode(NodeAt(0));
  all.Add(wait);
  all.Add(never);
  all.BeginNode(NodeAt(1));
  all.Add(never);
  all.Add({});
  EXPECT_EQ(all.Finish().outcome, Outcome::kNever);
  RefusalBuilder some;
  some.BeginNode(NodeAt(0));
  some.Add(never);
  some.BeginNode(NodeAt(1));
  some.Add(wait);
  EXPECT_EQ(some.Finish().outcome, Outcome::kWait);
}

// What a scheduler says of a request that finds no place.
std::string Text(TestCluster& cluster, const ShapeSpec& ask) {
  BasicScheduler scheduler(cluster.state, FirstFit());
  const ShapeId shape = cluster.Intern(ask);
  const auto decision = scheduler.Decide(shape);
  EXPECT_TRUE(decision.ok()) << decision.status().ToString();
  if (!decision.ok()) return "";
  EXPECT_FALSE(decision->placed());
  return RefusalText(cluster.state, decision->refusal);
}

testing::AssertionResult Holds(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "no '" << part << "' in: " << text;
    }
  }
  return testing::AssertionSuccess();
}

TEST(RefusalText, SaysCountsNearestAndNumbers) {
  TestCluster cluster;
  EXPECT_EQ(Text(cluster, CpuTask(1)), "the cluster has no nodes");
  const NodeId a = cluster.AddNode(GpuNode("a", 2));
  cluster.AddNode(GpuNode("b", 1, "T4", 1'000));
  cluster.AddNode(GpuNode("c", 0));
  cluster.Place("t0", ShareOf(700), a, DeviceMask::Of(0));
  cluster.Place("t1", ShareOf(680), a, DeviceMask::Of(1));
  EXPECT_TRUE(Holds(Text(cluster, ShareOf(500, 2'000)),
                    {"0 of 3 nodes", "1 ModelNotAllowed", "1 InsufficientCpu", "1 NoDeviceWithRoom",
                     "nearest is 'a'", "500 gpu_milli", "320"}));
  EXPECT_TRUE(Holds(Text(cluster, CpuTask(96'001)),
                    {"3 InsufficientCpu", "'a'", "96001 cpu_milli", "96000", "empty nodes"}));
  EXPECT_TRUE(Holds(Text(cluster, CpuTask(1, 400'000)),
                    {"3 InsufficientMemory", "400000 mem_mib", "393216"}));
  EXPECT_TRUE(Holds(Text(cluster, WholeGpus(2)), {"TooFewWholeDevices", "2 whole devices", "'b'"}));
  ShapeSpec other = ShareOf(1);
  other.models = {"A10"};
  EXPECT_TRUE(Holds(Text(cluster, other), {"3 ModelNotAllowed", "model", "empty nodes"}));
}

TEST(RefusalText, TellsDeviceMemoryFromShareWhateverTheNumbers) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("a", 1);
  spec.devices[0].gpu_mem_mib = 300;
  cluster.AddNode(spec);
  ShapeSpec ask = ShareOf(500);
  ask.gpu_mem_mib = 400;
  EXPECT_TRUE(Holds(Text(cluster, ask), {"400 gpu_mem_mib", "300"}));
  ask.gpu_mem_mib = 500;  // as many MiB as milli
  EXPECT_TRUE(Holds(Text(cluster, ask), {"500 gpu_mem_mib", "300"}));
}

}  // namespace
}  // namespace gpusched
