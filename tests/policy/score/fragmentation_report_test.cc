#include "gpusched/policy/score/fragmentation_report.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TargetShape Wants(std::int64_t milli, std::int64_t count, const std::string& profile = "",
                  std::int64_t memory = 0) {
  return {.cpu_milli = 0,
          .gpu_milli = milli,
          .gpu_count = 1,
          .models = {},
          .count = count,
          .gpu_mem_mib = memory,
          .mig_profile = profile};
}

FragmentTable Table(TestCluster& cluster, std::vector<TargetShape> shapes) {
  return *FragmentTable::Build(*TargetWorkload::FromShapes(std::move(shapes)), cluster.state);
}

TEST(FragmentationReport, ByNodeModelAndClusterAddUp) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 2));
  cluster.AddNode(GpuNode("b", 1, "A10"));
  cluster.Place("t", ShareOf(700), a, DeviceMask::Of(0));
  // Half of the tasks ask 500, which the 300 left on a's first device are no use to.
  const FragmentTable table = Table(cluster, {Wants(500, 1), Wants(200, 1)});
  const FragmentationReport report = MeasureFragmentation(cluster.state, table);
  EXPECT_EQ(report.cluster.capacity_milli, 3'000);
  EXPECT_EQ(report.cluster.idle_milli, 2'300);
  EXPECT_DOUBLE_EQ(report.cluster.gpus(), 0.15);
  EXPECT_DOUBLE_EQ(*report.cluster.of_capacity(), 0.05);
  EXPECT_DOUBLE_EQ(*report.cluster.of_idle(), 0.15 / 2.3);
  ASSERT_EQ(report.nodes.size(), 2U);
  EXPECT_EQ(report.nodes[0].name, "a");
  EXPECT_DOUBLE_EQ(report.nodes[0].gpus(), 0.15);
  EXPECT_DOUBLE_EQ(report.nodes[1].gpus(), 0);
  ASSERT_EQ(report.models.size(), 2U);
  EXPECT_EQ(report.models[0].name, "A10");
  EXPECT_DOUBLE_EQ(report.models[1].gpus(), 0.15);
}

TEST(FragmentationReport, UnderATenthIdleTheShareOfIdleIsNotJudged) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 1));
  cluster.Place("t", ShareOf(901), a, DeviceMask::Of(0));
  const FragmentTable table = Table(cluster, {Wants(500, 1)});
  Fragmentation measured = MeasureFragmentation(cluster.state, table).cluster;
  EXPECT_FALSE(measured.of_idle().has_value());
  EXPECT_DOUBLE_EQ(*measured.of_capacity(), 0.099);
  cluster.Release(*cluster.state.FindTask("t"));
  cluster.Place("t", ShareOf(900), a, DeviceMask::Of(0));
  EXPECT_DOUBLE_EQ(*MeasureFragmentation(cluster.state, table).cluster.of_idle(), 1);
  EXPECT_FALSE(Fragmentation().of_capacity().has_value());
}

TEST(FragmentationReport, MemoryThatIsGoneStrandsTheShare) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("a", 1);
  spec.devices[0].gpu_mem_mib = 16'000;
  const NodeId a = cluster.AddNode(spec);
  ShapeSpec fat = ShareOf(100);
  fat.gpu_mem_mib = 14'000;
  cluster.Place("fat", fat, a, DeviceMask::Of(0));
  const FragmentTable table = Table(cluster, {Wants(200, 1, "", 4'000), Wants(200, 3)});
  EXPECT_DOUBLE_EQ(MeasureFragmentation(cluster.state, table).cluster.gpus(), 0.9 / 4)
      << "a quarter of the tasks ask 4000 MiB, of which 2000 are left";
}

TEST(FragmentationReport, SlicesWithoutALegalStartAreFragments) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("a", 1, "A100-SXM4-40GB");
  spec.devices[0].partition_on_demand = true;
  const NodeId a = cluster.AddNode(spec);
  const ShapeId one = cluster.Intern({.gpu_count = 1, .models = {}, .mig_profile = "1g.5gb"});
  Transaction transaction(cluster.state);
  for (const std::int32_t start : {0, 1, 5}) {
    ASSERT_TRUE(
        transaction
            .Place("t" + std::to_string(start), one,
                   {.node = a, .devices = DeviceMask::Of(0), .instances = {{0, "1g.5gb", start}}})
            .ok());
  }
  transaction.Commit();
  const FragmentTable table = Table(cluster, {Wants(0, 1, "3g.20gb"), Wants(0, 1, "2g.10gb")});
  const Fragmentation measured = MeasureFragmentation(cluster.state, table).cluster;
  EXPECT_EQ(measured.idle_milli, 571) << "four of seven compute slices";
  EXPECT_DOUBLE_EQ(*measured.of_idle(), 0.5) << "2g fits at 2, 3g nowhere";
}

// On plain nodes the report says what the published measure does, node by node.
TEST(FragmentationReport, ThePublishedCaseComesOutUnchanged) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    for (int n = 0; n < 6; ++n) {
      const int gpus = static_cast<int>(1 + rng.Below(8));
      const NodeId id =
          cluster.AddNode(GpuNode("n" + std::to_string(n), gpus, rng.Below(2) == 0 ? "T4" : "A10"));
      for (int d = 0; d < gpus; ++d) {
        if (rng.Below(3) == 0) continue;
        cluster.Place("t" + std::to_string(n) + "/" + std::to_string(d),
                      ShareOf(static_cast<std::int64_t>(1 + rng.Below(999)),
                              static_cast<std::int64_t>(rng.Below(12'000))),
                      id, DeviceMask::Of(d));
      }
    }
    std::vector<TargetShape> shapes = {Wants(500, 3), Wants(250, 2)};
    shapes.push_back(
        {.cpu_milli = 8'000, .gpu_milli = 1'000, .gpu_count = 2, .models = {"T4"}, .count = 4});
    shapes.push_back(
        {.cpu_milli = 1'000, .gpu_milli = 0, .gpu_count = 0, .models = {}, .count = 1});
    const FragmentTable table = Table(cluster, shapes);
    const FragmentationReport report = MeasureFragmentation(cluster.state, table);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < report.nodes.size(); ++i) {
      const NodeView node = cluster.state.node(cluster.state.nodes().order()[i]);
      EXPECT_EQ(report.nodes[i].fragment_weighted, table.Fragment(node));
      sum += table.Fragment(node);
    }
    EXPECT_EQ(report.cluster.fragment_weighted, sum);
  }
}

}  // namespace
}  // namespace gpusched
