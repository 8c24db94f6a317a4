#include "gpusched/policy/score/dot_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "cluster_fixture.h"
#include "floor_of.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(DotProduct, WorkedNumbers) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));  // 96 cores
  const NodeView node = cluster.node(id);
  // 96/128 · 4/128 + 8/8 · 1/8 = 0.1484; 100 · (1 − 0.1484/2) = 92.58.
  EXPECT_EQ(DotProduct()(node, cluster.ShapeOf(WholeGpus(1, 4'000)), {}), 92);
  // 96/128 · 64/128 + 8/8 · 8/8 = 1.375: 31.25.
  EXPECT_EQ(DotProduct()(node, cluster.ShapeOf(WholeGpus(8, 64'000)), {}), 31);
  // Before placement, so what is free counts, not what is left: 6/8 · 4/8 (and 48/128 · 64/128).
  cluster.Place("t", WholeGpus(2, 48'000), id, Devices({0, 1}));
  EXPECT_EQ(DotProduct()(node, cluster.ShapeOf(WholeGpus(4, 48'000)), {}), 74);  // 74.22
}

TEST(DotProduct, LargeMachinesStayInRange) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("huge", 64, "T4", kMaxQuantity));
  EXPECT_EQ(DotProduct()(cluster.node(id), cluster.ShapeOf(WholeGpus(64, kMaxQuantity)), {}), 0);
  const DotProduct odd{{.cpu_milli = ScoreNorms::kMaxCpuMilli, .gpu_milli = 131'071}};
  EXPECT_EQ(odd(cluster.node(id), cluster.ShapeOf(WholeGpus(64, kMaxQuantity)), {}), 0);
}

// With norms that divide each other and with norms that do not, which take different ways.
TEST(DotProduct, AgreesWithTheFormula) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 6);
    DotProduct score{
        {.cpu_milli = 1 + IntBelow(rng, 16'000), .gpu_milli = 1 + IntBelow(rng, 8'000)}};
    if (OneIn(rng, 2)) score.norms.cpu_milli = score.norms.gpu_milli * (1 + IntBelow(rng, 16));
    const auto cpu_norm = static_cast<double>(score.norms.cpu_milli);
    const auto gpu_norm = static_cast<double>(score.norms.gpu_milli);
    for (int i = 0; i < 10; ++i) {
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        const NodeView node = cluster.state.node(slot);
        const auto cpu_asked = static_cast<double>(shape.cpu_milli == 0 ? 100 : shape.cpu_milli);
        const double dot = static_cast<double>(node.cpu_free()) / cpu_norm * cpu_asked / cpu_norm +
                           static_cast<double>(node.gpu_free_milli()) / gpu_norm *
                               static_cast<double>(shape.gpu_milli_total()) / gpu_norm;
        const double value = 100 * (1 - dot / 2);
        ASSERT_TRUE(IsFloorOf(score(node, shape, {}), std::clamp(value, 0.0, 100.0)));
      }
    }
  }
}

}  // namespace
}  // namespace gpusched
