#include "gpusched/state/state_view.h"

#include <gtest/gtest.h>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

TEST(StateView, ShowsNodesInOrderAndFollowsTheState) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 1));
  cluster.AddNode(GpuNode("b", 2));
  const ShapeId shape = cluster.Intern(WholeGpus(2));
  const StateView view(cluster.state);
  ASSERT_EQ(view.node_order().size(), 2U);
  EXPECT_EQ(view.node(view.node_order()[1]).devices().size(), 2U);
  EXPECT_EQ(view.capacity()[ResourceKind::kGpuMilli], 3'000);
  EXPECT_EQ(view.shape(shape).gpu_count, 2);
  cluster.Place("t", WholeGpus(1), a, DeviceMask::Of(0));
  EXPECT_EQ(view.node(a.slot).whole_free(), 0U);
  cluster.RemoveNode(*cluster.state.FindNode("b"));
  EXPECT_EQ(view.node_order().size(), 1U);
}

}  // namespace
}  // namespace gpusched
