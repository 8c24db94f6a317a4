#include "gpusched/state/node_view.h"

#include <gtest/gtest.h>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

TEST(NodeView, ShowsWhatIsLeftAfterUseAndForeignUse) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("a", 2, "T4", 8'000);
  spec.mem_mib = 100;
  const NodeId id = cluster.AddNode(spec);
  cluster.Place("t",
                {.cpu_milli = 1'000, .mem_mib = 10, .gpu_count = 1, .gpu_milli = 300, .models = {}},
                id, DeviceMask::Of(1));
  cluster.SetForeign(id, {.cpu_milli = 500, .mem_mib = 5, .device_milli = {200}});
  const NodeView node = cluster.node(id);
  EXPECT_EQ(node.id(), id);
  EXPECT_EQ(node.slot(), id.slot);
  EXPECT_EQ(node.cpu_free(), 6'500);
  EXPECT_EQ(node.mem_free(), 85);
  EXPECT_EQ(node.gpu_free_milli(), 1'500);
  EXPECT_EQ(node.capacity()[ResourceKind::kGpuMilli], 2'000);
  EXPECT_EQ(node.devices()[0].gpu_milli, 800);
  EXPECT_EQ(node.devices()[1].gpu_milli, 700);
  EXPECT_EQ(node.device_ledgers()[0].foreign.gpu_milli, 200);
  EXPECT_EQ(node.device_ledgers()[1].used.gpu_milli, 300);
  EXPECT_EQ(node.whole_free(), 0U);
  EXPECT_EQ(node.models(), ModelMask{1} << *cluster.state.models().Find("T4"));
  EXPECT_EQ(node.tasks(TaskKind::kShare), 1U);
  EXPECT_EQ(node.tasks(TaskKind::kOne), 0U);
}

}  // namespace
}  // namespace gpusched
