#include "gpusched/state/fit.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "cluster_fixture.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(Fits, ASumOfFreePartsIsNoDeviceWithRoom) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 2));
  cluster.Place("a", ShareOf(400), node, DeviceMask::Of(0));
  cluster.Place("b", ShareOf(500), node, DeviceMask::Of(1));
  EXPECT_EQ(cluster.node(node).gpu_free_milli(), 1'100);
  EXPECT_FALSE(Fits(cluster.node(node), cluster.ShapeOf(WholeGpus(1))));
  EXPECT_FALSE(Fits(cluster.node(node), cluster.ShapeOf(ShareOf(601))));
  EXPECT_TRUE(Fits(cluster.node(node), cluster.ShapeOf(ShareOf(600))));
}

TEST(Fits, ExactlyWhatIsFree) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n1", 2, "T4", 1'000);
  spec.mem_mib = 10;
  spec.devices[0].gpu_mem_mib = 100;
  spec.devices[1].gpu_mem_mib = 100;
  const NodeView node = cluster.node(cluster.AddNode(spec));
  const ShapeSpec exact{.cpu_milli = 1'000,
                        .mem_mib = 10,
                        .gpu_count = 2,
                        .gpu_milli = 1'000,
                        .gpu_mem_mib = 100,
                        .models = {"T4"}};
  EXPECT_TRUE(Fits(node, cluster.ShapeOf(exact)));
  for (int field = 0; field < 5; ++field) {
    ShapeSpec more = exact;
    if (field == 0) ++more.cpu_milli;
    if (field == 1) ++more.mem_mib;
    if (field == 2) ++more.gpu_count;
    if (field == 3) ++more.gpu_mem_mib;
    if (field == 4) more.models = {"A10"};
    EXPECT_FALSE(Fits(node, cluster.ShapeOf(more))) << field;
  }
}

// The definition: some set of as many devices as are asked, each with room, model and memory.
bool FitsBySubsets(const NodeView& node, const Shape& shape) {
  const auto devices = node.devices();
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << devices.size()); ++bits) {
    const DeviceMask subset(bits);
    if (subset.size() != shape.gpu_count) continue;
    bool good = node.cpu_free() >= shape.cpu_milli && node.mem_free() >= shape.mem_mib;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!subset.contains(static_cast<int>(i))) continue;
      good = good && devices[i].gpu_milli >= shape.gpu_milli &&
             devices[i].mem_mib >= shape.gpu_mem_mib &&
             (shape.models & (ModelMask{1} << devices[i].model)) != 0;
    }
    EXPECT_EQ(FitsOn(node, shape, subset), good);
    if (good) return true;
  }
  return false;
}

TEST(Fits, AgreesWithAllSubsetsOfDevices) {
  int fitting = 0;
  int not_fitting = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 5);
    for (int i = 0; i < 8; ++i) {
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        const NodeView node = cluster.state.node(slot);
        const bool expected = FitsBySubsets(node, shape);
        ASSERT_EQ(Fits(node, shape), expected) << "seed " << seed;
        ++(expected ? fitting : not_fitting);
        int room = 0;
        for (std::size_t d = 0; d < node.devices().size(); ++d) {
          const bool fits = DeviceFits(node.devices()[d], shape);
          ASSERT_EQ(FittingDevices(node, shape).contains(static_cast<int>(d)), fits);
          room += fits ? 1 : 0;
        }
        ASSERT_EQ(FittingDevices(node, shape).size(), room);
      }
    }
  }
  EXPECT_GT(fitting, 1'000);
  EXPECT_GT(not_fitting, 1'000);
}

TEST(FitsOn, RefusesDevicesThatAreNotThere) {
  TestCluster cluster;
  const NodeView node = cluster.node(cluster.AddNode(GpuNode("n1", 1)));
  const Shape shape = cluster.ShapeOf(ShareOf(500));
  EXPECT_TRUE(FitsOn(node, shape, DeviceMask::Of(0)));
  EXPECT_FALSE(FitsOn(node, shape, DeviceMask::Of(1)));
  EXPECT_FALSE(FitsOn(node, shape, DeviceMask::Of(63)));
  EXPECT_FALSE(FitsOn(node, shape, DeviceMask()));
}

}  // namespace
}  // namespace gpusched
