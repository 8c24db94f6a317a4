#include "gpusched/policy/score/gpu_packing.h"

#include <gtest/gtest.h>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

DeviceMask FirstDevices(int count) {
  DeviceMask mask;
  for (int i = 0; i < count; ++i) mask.Insert(i);
  return mask;
}

TEST(GpuPacking, AnIdleNodeScoresByItsSize) {
  const struct {
    int devices;
    Score expected;
  } cases[] = {{1, 32}, {2, 31}, {4, 29}, {8, 25}, {16, 17}, {17, 17}, {32, 32}, {64, 64}};
  for (const auto& c : cases) {
    TestCluster cluster;
    const NodeView node = cluster.node(cluster.AddNode(GpuNode("n", c.devices)));
    EXPECT_EQ(GpuPacking()(node, cluster.ShapeOf(ShareOf(500)), DeviceMask::Of(0)), c.expected);
    EXPECT_EQ(GpuPacking()(node, cluster.ShapeOf(WholeGpus(1)), DeviceMask::Of(0)), c.expected);
  }
}

TEST(GpuPacking, TakingWhollyFreeDevicesCostsOneEach) {
  const struct {
    int count;
    Score expected;
  } cases[] = {{1, 49}, {2, 48}, {4, 46}, {8, 42}, {16, 34}, {17, 33}, {18, 33}, {31, 33}};
  for (const auto& c : cases) {
    TestCluster cluster;
    const NodeId id = cluster.AddNode(GpuNode("n", 32));
    cluster.Place("t", ShareOf(500), id, DeviceMask::Of(31));
    EXPECT_EQ(
        GpuPacking()(cluster.node(id), cluster.ShapeOf(WholeGpus(c.count)), FirstDevices(c.count)),
        c.expected);
  }
}

TEST(GpuPacking, AShareOfAFreeDeviceIsOneOfThoseCases) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 2));
  cluster.Place("t", ShareOf(900), id, DeviceMask::Of(1));
  EXPECT_EQ(GpuPacking()(cluster.node(id), cluster.ShapeOf(ShareOf(500)), DeviceMask::Of(0)), 49);
}

TEST(GpuPacking, ADeviceInUseScoresByWhatItHasLeftBefore) {
  const struct {
    std::int64_t used;
    Score expected;  // 100 − (left · 100 / 1000) / 10, each rounded down
  } cases[] = {{999, 100}, {990, 100}, {901, 100}, {900, 99}, {801, 99}, {800, 98},
               {700, 97},  {500, 95},  {200, 92},  {100, 91}, {1, 91}};
  for (const auto& c : cases) {
    TestCluster cluster;
    const NodeId id = cluster.AddNode(GpuNode("n", 2));
    cluster.Place("t", ShareOf(c.used), id, DeviceMask::Of(0));
    EXPECT_EQ(GpuPacking()(cluster.node(id), cluster.ShapeOf(ShareOf(1)), DeviceMask::Of(0)),
              c.expected)
        << c.used;
  }
}

TEST(GpuPacking, AHalvedDeviceCountsAsInUse) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n", 2);
  spec.devices[0].gpu_milli = 500;
  const NodeId id = cluster.AddNode(spec);
  EXPECT_EQ(GpuPacking()(cluster.node(id), cluster.ShapeOf(ShareOf(100)), DeviceMask::Of(0)), 95);
  EXPECT_EQ(GpuPacking()(cluster.node(id), cluster.ShapeOf(ShareOf(100)), DeviceMask::Of(1)), 49);
}

TEST(GpuPacking, TasksWithoutGpuScoreZero) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));
  EXPECT_EQ(GpuPacking()(cluster.node(id), cluster.ShapeOf(CpuTask(1)), {}), 0);
}

}  // namespace
}  // namespace gpusched
