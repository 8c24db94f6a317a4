#include "gpusched/policy/score/first_fit.h"

#include <gtest/gtest.h>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

TEST(FirstFit, ScoresEveryNodeTheSame) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 1));
  const NodeId b = cluster.AddNode(GpuNode("b", 8));
  for (const ShapeSpec& spec : {ShareOf(500), WholeGpus(1), CpuTask(1)}) {
    const Shape shape = cluster.ShapeOf(spec);
    EXPECT_EQ(FirstFit()(cluster.node(a), shape, {}), 0);
    EXPECT_EQ(FirstFit()(cluster.node(b), shape, {}), 0);
  }
  EXPECT_EQ(FirstFit::range(), (ScoreRange{0, 0}));
}

}  // namespace
}  // namespace gpusched
