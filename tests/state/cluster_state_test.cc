#include "gpusched/state/cluster_state.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/state/transaction.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TEST(ClusterState, FindsByNameWhatIsLive) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 1));
  const TaskId task = cluster.Place("t", CpuTask(1), node);
  EXPECT_EQ(cluster.state.FindNode("n1"), node);
  EXPECT_EQ(cluster.state.FindTask("t"), task);
  EXPECT_EQ(cluster.state.FindNode("t"), std::nullopt) << "nodes and tasks have names of their own";
  cluster.Release(task);
  cluster.RemoveNode(node);
  EXPECT_EQ(cluster.state.FindNode("n1"), std::nullopt);
  EXPECT_EQ(cluster.state.FindTask("t"), std::nullopt);
  EXPECT_EQ(cluster.state.node_name(node), "n1") << "readable until the slot is reused";
  EXPECT_EQ(cluster.state.task_name(task), "t");
  EXPECT_EQ(cluster.state.node_name(NodeId()), "");
}

TEST(ClusterState, CapacityIsTheSumOverLiveNodes) {
  TestCluster cluster;
  NodeSpec a = GpuNode("a", 2, "T4", 4'000);
  a.mem_mib = 10;
  a.devices[0].gpu_mem_mib = 7;
  a.devices[1].gpu_milli = 500;
  const NodeId node = cluster.AddNode(a);
  cluster.AddNode(GpuNode("b", 1, "T4", 1'000));
  const Resources& capacity = cluster.state.capacity();
  EXPECT_EQ(capacity[ResourceKind::kCpuMilli], 5'000);
  EXPECT_EQ(capacity[ResourceKind::kMemMib], 393'226);
  EXPECT_EQ(capacity[ResourceKind::kGpuMilli], 2'500);
  EXPECT_EQ(capacity[ResourceKind::kGpuMemMib], 7);
  cluster.RemoveNode(node);
  EXPECT_EQ(capacity[ResourceKind::kGpuMilli], 1'000);
  EXPECT_EQ(capacity[ResourceKind::kGpuMemMib], 0);
}

TEST(ClusterStateIntern, EqualRequestsAreOne) {
  TestCluster cluster;
  ShapeSpec ask = ShareOf(500, 1'000);
  ask.models = {"T4", "A10"};
  const ShapeId first = cluster.Intern(ask);
  ask.models = {"A10", "T4", "A10"};
  EXPECT_EQ(cluster.Intern(ask), first) << "models are a set";
  ask.models = {};
  EXPECT_NE(cluster.Intern(ask), first);
  EXPECT_EQ(cluster.state.shapes().size(), 2U);
}

TEST(ClusterStateIntern, KeepsEveryField) {
  TestCluster cluster;
  ShapeSpec ask{.cpu_milli = 1,
                .mem_mib = 2,
                .gpu_count = 1,
                .gpu_milli = 3,
                .gpu_mem_mib = 4,
                .models = {"A10"}};
  const Shape shape = cluster.ShapeOf(ask);
  EXPECT_EQ(shape.cpu_milli, 1);
  EXPECT_EQ(shape.mem_mib, 2);
  EXPECT_EQ(shape.gpu_count, 1);
  EXPECT_EQ(shape.gpu_milli, 3);
  EXPECT_EQ(shape.gpu_mem_mib, 4);
  EXPECT_EQ(shape.models, ModelMask{1} << *cluster.state.models().Find("A10"));
  EXPECT_EQ(cluster.ShapeOf(CpuTask(1)).models, kAnyModel);
}

TEST(ClusterStateIntern, RefusesWhatValidateRefuses) {
  ClusterState state;
  EXPECT_TRUE(Refused(state.Intern(ShareOf(1'001)), Code::kInvalidArgument, {"gpu_milli is 1001"}));
  EXPECT_EQ(state.shapes().size(), 0U);
}

TEST(ClusterState, Knows64ModelNamesAndNoMore) {
  ModelCatalog catalog;
  for (int i = 0; i < 65; ++i) catalog.DeclareOpaque("m" + std::to_string(i));
  TestCluster cluster(catalog);
  for (int i = 0; i < 63; ++i)
    cluster.AddNode(GpuNode("n" + std::to_string(i), 1, "m" + std::to_string(i)));
  ShapeSpec ask = ShareOf(500);
  ask.models = {"m63"};
  EXPECT_EQ(cluster.ShapeOf(ask).models, ModelMask{1} << 63);
  const std::uint64_t hash = cluster.hash();
  ask.models = {"m64"};
  EXPECT_TRUE(Refused(cluster.state.Intern(ask), Code::kResourceExhausted,
                      {"models is 'm64'", "at most 64"}));
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.AddNode(GpuNode("x", 1, "m64")), Code::kResourceExhausted,
                      {"node 'x'", "'m64'", "at most 64"}));
  EXPECT_EQ(cluster.state.FindNode("x"), std::nullopt);
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_TRUE(transaction.AddNode(GpuNode("x", 1, "m0")).ok());
}

TEST(ClusterState, MovesWithItsNames) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("a-name-longer-than-any-small-string", 1));
  cluster.AddNode(GpuNode("b", 1));
  const std::uint64_t hash = cluster.hash();
  ClusterState moved = std::move(cluster.state);
  EXPECT_EQ(moved.FindNode("a-name-longer-than-any-small-string"), node);
  EXPECT_TRUE(moved.FindNode("b").has_value());
  EXPECT_EQ(StateHash(moved), hash);
}

TEST(ClusterState, UnstatedMemoryHoldsNobodyBackAndZeroMemoryDoes) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n1", 2);
  spec.devices[1].gpu_mem_mib = 0;
  const NodeId node = cluster.AddNode(spec);
  ShapeSpec ask = ShareOf(100);
  ask.gpu_mem_mib = kMaxQuantity;
  cluster.Place("unstated", ask, node, DeviceMask::Of(0));
  EXPECT_EQ(cluster.node(node).devices()[0].mem_mib, DeviceFree::kUntracked);
  ask.gpu_mem_mib = 1;
  const ShapeId shape = cluster.Intern(ask);
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.Place("zero", shape, {node, DeviceMask::Of(1)}),
                      Code::kFailedPrecondition, {"gpu_mem_mib is 0 free"}));
  ask.gpu_mem_mib = 0;
  const ShapeId none = cluster.Intern(ask);
  EXPECT_TRUE(transaction.Place("none", none, {node, DeviceMask::Of(1)}).ok());
}

// Names of models are given for the life of a state, but only by what was accepted.
TEST(ClusterState, ARefusedNodeOrShapeUsesUpNoModelNames) {
  ModelCatalog catalog;
  for (int i = 0; i < 66; ++i) catalog.DeclareOpaque("m" + std::to_string(i));
  ClusterState state(catalog);
  const auto node = [](std::string name, const std::vector<int>& models) {
    NodeSpec spec{.name = std::move(name), .devices = {}};
    for (const int model : models) {
      spec.devices.push_back({.model = "m" + std::to_string(model), .gpu_mem_mib = {}});
    }
    return spec;
  };
  Transaction transaction(state);
  std::vector<int> first;
  for (int i = 0; i < 63; ++i) first.push_back(i);
  ASSERT_TRUE(transaction.AddNode(node("a", first)).ok());
  EXPECT_EQ(transaction.AddNode(node("b", {63, 64})).status().code(),
            absl::StatusCode::kResourceExhausted);
  const ShapeSpec two{.gpu_count = 1, .gpu_milli = 500, .models = {"m63", "m64"}};
  EXPECT_EQ(state.Intern(two).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(transaction.AddNode(node("c", {65})).ok()) << "one name is left";
}

}  // namespace
}  // namespace gpusched
