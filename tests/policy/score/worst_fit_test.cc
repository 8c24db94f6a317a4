#include "gpusched/policy/score/worst_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "cluster_fixture.h"
#include "floor_of.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(WorstFit, WorkedNumbers) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));
  const NodeView node = cluster.node(id);
  // Left: 92 of 128 cores, 7 of 8 GPUs. 100 · (0.71875 + 0.875)/2 = 79.7.
  EXPECT_EQ(WorstFit()(node, cluster.ShapeOf(WholeGpus(1, 4'000)), {}), 79);
  EXPECT_EQ(WorstFit()(node, cluster.ShapeOf(WholeGpus(8, 96'000)), {}), 0);
  // Left: 64 cores, 4 GPUs: exactly 50.
  EXPECT_EQ(WorstFit()(node, cluster.ShapeOf(WholeGpus(4, 32'000)), {}), 50);
}

TEST(WorstFit, PrefersTheEmptierNode) {
  TestCluster cluster;
  const NodeId full = cluster.AddNode(GpuNode("full", 8));
  const NodeId idle = cluster.AddNode(GpuNode("idle", 8));
  cluster.Place("t", WholeGpus(4), full, Devices({0, 1, 2, 3}));
  const Shape shape = cluster.ShapeOf(WholeGpus(1));
  EXPECT_LT(WorstFit()(cluster.node(full), shape, {}), WorstFit()(cluster.node(idle), shape, {}));
}

TEST(WorstFit, StaysInRange) {
  TestCluster cluster;
  const NodeId huge = cluster.AddNode(GpuNode("huge", 64, "T4", kMaxQuantity));
  EXPECT_EQ(WorstFit()(cluster.node(huge), cluster.ShapeOf(ShareOf(1)), {}), 100);
  // Unasked CPU counts as 100 milli, of which this node has none: below 0 without the bound.
  const NodeId tiny = cluster.AddNode(GpuNode("tiny", 0, "T4", 0));
  EXPECT_EQ(WorstFit()(cluster.node(tiny), cluster.ShapeOf(CpuTask(0)), {}), 0);
}

TEST(WorstFit, AgreesWithTheFormula) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 6);
    const WorstFit score{
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
        const double value = 100 * (cpu_left + gpu_left) / 2;
        ASSERT_TRUE(IsFloorOf(score(node, shape, {}), std::clamp(value, 0.0, 100.0)));
      }
    }
  }
}

}  // namespace
}  // namespace gpusched
