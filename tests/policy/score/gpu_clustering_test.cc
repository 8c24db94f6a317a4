#include "gpusched/policy/score/gpu_clustering.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

// The score of `ask` on a node of eight devices that hosts `hosted`, each on devices of its own.
Score ScoreBeside(const std::vector<ShapeSpec>& hosted, const ShapeSpec& ask) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));
  int device = 0;
  for (const ShapeSpec& spec : hosted) {
    DeviceMask devices;
    for (std::int64_t i = 0; i < spec.gpu_count; ++i) devices.Insert(device++);
    cluster.Place("t" + std::to_string(device) + "-" + std::to_string(spec.cpu_milli), spec, id,
                  devices);
  }
  return GpuClustering()(cluster.node(id), cluster.ShapeOf(ask), {});
}

TEST(GpuClustering, FollowsTheTable) {
  // A base of 75, 50, 25 or 0, plus ⌊25 · used/8⌋.
  EXPECT_EQ(ScoreBeside({WholeGpus(1)}, WholeGpus(1)), 75 + 3);
  EXPECT_EQ(ScoreBeside({ShareOf(500)}, ShareOf(200)), 75 + 1);
  EXPECT_EQ(ScoreBeside({WholeGpus(4)}, WholeGpus(4)), 75 + 12);
  EXPECT_EQ(ScoreBeside({WholeGpus(1), WholeGpus(2)}, WholeGpus(1)), 50 + 9);
  EXPECT_EQ(ScoreBeside({ShareOf(500), WholeGpus(1)}, ShareOf(100)), 50 + 4);
  EXPECT_EQ(ScoreBeside({}, WholeGpus(1)), 25);
  EXPECT_EQ(ScoreBeside({}, WholeGpus(8)), 25);
  EXPECT_EQ(ScoreBeside({WholeGpus(2)}, WholeGpus(1)), 6);
  EXPECT_EQ(ScoreBeside({ShareOf(500)}, WholeGpus(1)), 1);
  EXPECT_EQ(ScoreBeside({WholeGpus(2), WholeGpus(2), WholeGpus(3)}, WholeGpus(1)), 21);
}

TEST(GpuClustering, AllOddCountsAreOneKind) {
  EXPECT_EQ(ScoreBeside({WholeGpus(3)}, WholeGpus(5)), 75 + 9);
}

TEST(GpuClustering, TasksWithoutGpuNeitherCountNorScore) {
  EXPECT_EQ(ScoreBeside({CpuTask(1'000)}, WholeGpus(1)), 25);
  EXPECT_EQ(ScoreBeside({CpuTask(1'000), WholeGpus(1)}, WholeGpus(1)), 75 + 3);
  EXPECT_EQ(ScoreBeside({WholeGpus(1)}, CpuTask(1'000)), 0);
}

TEST(GpuClustering, AMachineLargerThanTheNormGetsNoBonus) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 16));
  const Shape one = cluster.ShapeOf(WholeGpus(1));
  EXPECT_EQ(GpuClustering()(cluster.node(id), one, {}), 25);
  EXPECT_EQ((GpuClustering{{.gpu_milli = 32'000}})(cluster.node(id), one, {}), 25 + 12);
}

TEST(GpuClustering, AFullNodeGetsAllOfTheBonus) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 1));
  cluster.Place("t", WholeGpus(1), id, DeviceMask::Of(0));
  EXPECT_EQ(GpuClustering()(cluster.node(id), cluster.ShapeOf(WholeGpus(1)), {}), 100);
}

}  // namespace
}  // namespace gpusched
