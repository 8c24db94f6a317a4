#include "gpusched/engine/column_account.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/engine/explain.h"
#include "random_history.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Path = FitColumns::Path;

Refusal ByNodes(const ClusterState& state, const Shape& shape) {
  return ExplainNodes(state, shape, [](const NodeView&, const auto&) {});
}

std::string Text(const Refusal& refusal) {
  std::string text = refusal.outcome == Outcome::kNever ? "never" : "wait";
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (refusal.nodes_by_reason[i] == 0) continue;
    text += " " + std::to_string(refusal.nodes_by_reason[i]) + " " +
            std::string(ReasonName(static_cast<Reason>(i)));
  }
  const Shortfall& lacks = refusal.shortfall;
  return text + "; nearest " + std::to_string(refusal.nearest.slot) + "." +
         std::to_string(refusal.nearest.generation) + " " +
         std::string(ReasonName(lacks.verdict.reason)) + " " +
         std::to_string(static_cast<int>(lacks.verdict.outcome)) + " " +
         std::to_string(lacks.need) + " " + std::to_string(lacks.have);
}

testing::AssertionResult Same(const Refusal& one, const Refusal& two) {
  const bool same = one.nodes_by_reason == two.nodes_by_reason && one.outcome == two.outcome &&
                    one.nearest == two.nearest && one.shortfall.verdict == two.shortfall.verdict &&
                    one.shortfall.need == two.shortfall.need &&
                    one.shortfall.have == two.shortfall.have;
  if (same) return testing::AssertionSuccess();
  return testing::AssertionFailure() << Text(one) << "\nis not\n" << Text(two);
}

// Looked up every way.
Refusal Explained(const ClusterState& state, const Shape& shape) {
  FitColumns columns;
  FitColumns portable(Path::kPortable);
  const Refusal refusal = ExplainByColumns(columns, state, shape);
  EXPECT_TRUE(Same(refusal, ByNodes(state, shape)));
  EXPECT_TRUE(Same(refusal, ExplainByColumns(portable, state, shape)));
  return refusal;
}

TEST(ColumnAccount, WithoutNodesSaysSo) {
  TestCluster cluster;
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(CpuTask(1))).dominant(), Reason::kNoNodes);
}

TEST(ColumnAccount, ATaskThatFitsEverywhereHasNoNearest) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  const Refusal refusal = Explained(cluster.state, cluster.ShapeOf(ShareOf(1)));
  EXPECT_FALSE(refusal.nearest.has_value());
  EXPECT_EQ(refusal.outcome, Outcome::kWait);
}

TEST(ColumnAccount, NearestIsTheFirstThatLacksLeast) {
  TestCluster cluster;
  std::vector<NodeId> nodes;
  for (int i = 0; i < 200; ++i) {
    nodes.push_back(cluster.AddNode(GpuNode("n" + std::to_string(i), 1)));
    // 100 is the least that is taken, from node 77 on in every ninth.
    const std::int64_t taken = i >= 77 && i % 9 == 5 ? 100 : 100 + (i * 37) % 800 + 1;
    cluster.Place("t" + std::to_string(i), ShareOf(taken), nodes.back(), Devices({0}));
  }
  const Refusal refusal = Explained(cluster.state, cluster.ShapeOf(ShareOf(950)));
  EXPECT_EQ(refusal.nearest, nodes[77]);
  EXPECT_EQ(refusal.shortfall.have, 900);
  EXPECT_EQ(refusal.count(Reason::kNoDeviceWithRoom), 200U);
}

TEST(ColumnAccount, OfThoseThatLackAsMuchOneThatCouldTakeItWhenEmptyIsNearer) {
  TestCluster cluster;
  const NodeId small = cluster.AddNode(GpuNode("a", 1, "T4", 4'000));
  const NodeId busy = cluster.AddNode(GpuNode("b", 1, "T4", 8'000));
  cluster.AddNode(GpuNode("c", 1, "T4", 4'000));
  cluster.Place("t", CpuTask(4'000), busy);
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(CpuTask(8'000))).nearest, busy);
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(CpuTask(8'001))).nearest, small);
}

TEST(ColumnAccount, ADeviceThatIsTooSmallNeverTakesTheShare) {
  TestCluster cluster;
  NodeSpec half = GpuNode("a", 1);
  half.devices[0].gpu_milli = 500;
  const NodeId small = cluster.AddNode(half);
  const Shape shape = cluster.ShapeOf(ShareOf(600));
  EXPECT_EQ(Explained(cluster.state, shape).outcome, Outcome::kNever);
  const NodeId busy = cluster.AddNode(GpuNode("b", 1));
  const TaskId task = cluster.Place("t", ShareOf(500), busy, Devices({0}));
  EXPECT_EQ(Explained(cluster.state, shape).nearest, busy);
  EXPECT_EQ(Explained(cluster.state, shape).outcome, Outcome::kWait);
  cluster.Release(task);
  cluster.RemoveNode(busy);
  EXPECT_EQ(Explained(cluster.state, shape).nearest, small);
}

TEST(ColumnAccount, NodesThatFailOnEverythingAreComparedToo) {
  TestCluster cluster;
  const NodeId busy = cluster.AddNode(GpuNode("a", 1, "T4", 8'000));
  const NodeId small = cluster.AddNode(GpuNode("b", 1, "T4", 4'000));
  cluster.Place("t0", WholeGpus(1, 8'000), busy, Devices({0}));
  cluster.Place("t1", WholeGpus(1), small, Devices({0}));
  Transaction transaction(cluster.state);
  for (const NodeId node : {busy, small}) ASSERT_TRUE(IsOk(transaction.SetCordoned(node, true)));
  for (const NodeId node : {busy, small}) {
    ASSERT_TRUE(IsOk(
        transaction.SetForeign(node, {.cpu_milli = 0, .mem_mib = 393'216, .device_milli = {}})));
  }
  transaction.Commit();
  ShapeSpec ask = WholeGpus(1, 8'000);
  ask.mem_mib = 1'000;
  const Refusal refusal = Explained(cluster.state, cluster.ShapeOf(ask));
  EXPECT_EQ(refusal.count(Reason::kCordoned), 2U);
  EXPECT_EQ(refusal.nearest, small)
      << "half of the CPU will never be there; of all else, nothing is";
}

// A node with devices of these memories, of which the last has 10,000 in use.
TestCluster WithMemory(std::initializer_list<std::int64_t> memories) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("a", static_cast<int>(memories.size()));
  std::size_t device = 0;
  for (const std::int64_t memory : memories) spec.devices[device++].gpu_mem_mib = memory;
  const NodeId node = cluster.AddNode(spec);
  ShapeSpec task = ShareOf(100);
  task.gpu_mem_mib = 10'000;
  cluster.Place("t", task, node, DeviceMask::Of(static_cast<int>(device) - 1));
  return cluster;
}

TEST(ColumnAccount, DeviceMemoryThatIsInUseMayBeFreed) {
  TestCluster cluster = WithMemory({16'000});
  ShapeSpec ask = ShareOf(300);
  ask.gpu_mem_mib = 8'000;
  Refusal refusal = Explained(cluster.state, cluster.ShapeOf(ask));
  EXPECT_EQ(refusal.dominant(), Reason::kInsufficientGpuMemory);
  EXPECT_EQ(refusal.shortfall.have, 6'000);
  EXPECT_EQ(refusal.outcome, Outcome::kWait);
  ask.gpu_mem_mib = 16'001;
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(ask)).outcome, Outcome::kNever);
  ask.gpu_milli = 950;
  refusal = Explained(cluster.state, cluster.ShapeOf(ask));
  EXPECT_EQ(refusal.dominant(), Reason::kNoDeviceWithRoom);
  EXPECT_EQ(refusal.outcome, Outcome::kNever);
}

TEST(ColumnAccount, DevicesOfDifferentMemoryAreCountedOneByOne) {
  TestCluster cluster = WithMemory({8'000, 16'000});
  ShapeSpec ask = ShareOf(300);
  ask.gpu_mem_mib = 12'000;
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(ask)).outcome, Outcome::kWait);
  ask = WholeGpus(2);
  ask.gpu_mem_mib = 12'000;
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(ask)).outcome, Outcome::kNever);
  ask.gpu_mem_mib = 7'000;
  EXPECT_EQ(Explained(cluster.state, cluster.ShapeOf(ask)).outcome, Outcome::kWait);
}

// GPUSCHED_FUZZ_DECISIONS in the environment makes it longer.
TEST(ColumnAccount, SaysWhatTheFiltersSayInRandomHistories) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::uint64_t kUsual = 5'000;  // it takes some ten times as long
#else
  constexpr std::uint64_t kUsual = 30'000;
#endif
  const char* const wanted = std::getenv("GPUSCHED_FUZZ_DECISIONS");
  const std::uint64_t enough = wanted == nullptr ? kUsual : std::strtoull(wanted, nullptr, 10);
  std::uint64_t asked = 0;
  std::uint64_t never = 0;
  std::array<std::uint64_t, kReasons> dominant{};
  for (std::uint64_t seed = 1; asked < enough; ++seed) {
    Rng rng(seed);
    const std::int64_t nodes = OneIn(rng, 12) ? IntBelow(rng, 2'000) : IntBelow(rng, 200);
    RandomHistory history(seed + 1'000'000, nodes);
    FitColumns fastest;
    FitColumns portable(Path::kPortable);
    const auto look = [&] {
      for (int i = 0; i < 4; ++i, ++asked) {
        const Shape shape = history.SomeShape();
        const Refusal expected = ByNodes(history.state(), shape);
        ASSERT_TRUE(Same(ExplainByColumns(fastest, history.state(), shape), expected))
            << "seed " << seed;
        ASSERT_TRUE(Same(ExplainByColumns(portable, history.state(), shape), expected))
            << "seed " << seed;
        ++dominant[static_cast<std::size_t>(expected.dominant())];
        if (expected.outcome == Outcome::kNever) ++never;
      }
      if (OneIn(history.rng(), 50)) portable = FitColumns(Path::kPortable);
    };
    for (int i = 0; i < 60 && asked < enough; ++i) {
      history.Round(look);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(never, 0U);
  for (const Reason reason :
       {Reason::kModelNotAllowed, Reason::kInsufficientCpu, Reason::kInsufficientMemory,
        Reason::kNoDeviceWithRoom, Reason::kTooFewWholeDevices, Reason::kInsufficientGpuMemory,
        Reason::kCordoned, Reason::kNoMigPlacement, Reason::kSharingNotOffered}) {
    EXPECT_GT(dominant[static_cast<std::size_t>(reason)], 0U) << ReasonName(reason);
  }
}

}  // namespace
}  // namespace gpusched
