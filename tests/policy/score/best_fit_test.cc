#include "gpusched/policy/score/best_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "cluster_fixture.h"
#include "floor_of.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(BestFit, WorkedNumbers) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));  // 96 cores
  const NodeView node = cluster.node(id);
  // Left: 92 of 128 cores, 7 of 8 GPUs. 100 · (1 − (0.71875 + 0.875)/2) = 20.3.
  EXPECT_EQ(BestFit()(node, cluster.ShapeOf(WholeGpus(1, 4'000)), {}), 20);
  // Left: 96 − 0.1 cores (unasked CPU counts as 0.1), 7.5 GPUs: 15.66.
  EXPECT_EQ(BestFit()(node, cluster.ShapeOf(ShareOf(500)), {}), 15);
  // Left: 32 cores, 0 GPUs: 87.5.
  EXPECT_EQ(BestFit()(node, cluster.ShapeOf(WholeGpus(8, 64'000)), {}), 87);
  // Nothing left: exactly 100.
  EXPECT_EQ(BestFit()(node, cluster.ShapeOf(WholeGpus(8, 96'000)), {}), 100);
  // Half of each norm left is exactly 50: no floor loses it.
  cluster.Place("t", CpuTask(28'000), id);
  EXPECT_EQ(BestFit()(node, cluster.ShapeOf(WholeGpus(4, 4'000)), {}), 50);
}

TEST(BestFit, PrefersTheFullerNode) {
  TestCluster cluster;
  const NodeId full = cluster.AddNode(GpuNode("full", 8));
  const NodeId idle = cluster.AddNode(GpuNode("idle", 8));
  cluster.Place("t", WholeGpus(4), full, Devices({0, 1, 2, 3}));
  const Shape shape = cluster.ShapeOf(WholeGpus(1));
  EXPECT_GT(BestFit()(cluster.node(full), shape, {}), BestFit()(cluster.node(idle), shape, {}));
}

TEST(BestFit, LargerMachinesThanTheNormsRankAsOneOfTheirSize) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("huge", 64, "T4", kMaxQuantity));
  EXPECT_EQ(BestFit()(cluster.node(id), cluster.ShapeOf(ShareOf(1)), {}), 0);
}

TEST(BestFit, AgreesWithTheFormula) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 6);
    const BestFit score{
        {.cpu_milli = 1 + IntBelow(rng, 16'000), .gpu_milli = 1 + IntBelow(rng, 8'000)}};
    const auto cpu_norm = static_cast<double>(score.norms.cpu_milli);
    const auto gpu_norm = static_cast<double>(score.norms.gpu_milli);
    for (int i = 0; i < 10; ++i) {
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        const NodeView node = cluster.state.node(slot);
        const auto cpu_asked = static_cast<double>(shape.cpu_milli == 0 ? 100 : shape.cpu_milli);
        const double cpu_left = (static_cast<double>(node.cpu_free()) - cpu_asked) / cpu_norm;
        const double gpu_left =
            static_cast<double>(node.gpu_free_milli() - shape.gpu_milli_total()) / gpu_norm;
        const double value = 100 * (1 - (cpu_left + gpu_left) / 2);
        ASSERT_TRUE(IsFloorOf(score(node, shape, {}), std::clamp(value, 0.0, 100.0)));
      }
    }
  }
}

TEST(BestFit, SaysWhatIsWrongWithItsNorms) {
  EXPECT_EQ(BestFit().problem(), "");
  EXPECT_NE((BestFit{{.cpu_milli = 0}}).problem().find("norms.cpu_milli"), std::string_view::npos);
}

}  // namespace
}  // namespace gpusched
