#include "gpusched/state/node_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

std::uint32_t Insert(NodeTable& nodes, const NodeSpec& spec, std::uint32_t model = 0) {
  return nodes.Insert(spec, std::vector<std::uint32_t>(spec.devices.size(), model));
}

TEST(NodeTable, InsertFillsAllColumns) {
  NodeTable nodes;
  NodeSpec spec = GpuNode("n1", 3, "T4", 4'000);
  spec.devices[1].gpu_milli = 0;
  spec.devices[2].gpu_mem_mib = 100;
  const std::uint32_t slot = Insert(nodes, spec, 5);
  EXPECT_TRUE(nodes.live(slot));
  EXPECT_FALSE(nodes.live(slot + 1));
  EXPECT_TRUE(nodes.Has(nodes.id(slot)));
  EXPECT_EQ(nodes.models(slot), ModelMask{1} << 5);
  EXPECT_EQ(nodes.whole_free(slot), 2U);
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kGpuMilli], 2'000);
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kGpuMemMib], 100) << "untracked memory is not counted";
  EXPECT_EQ(nodes.free(slot), nodes.capacity(slot));
  EXPECT_EQ(nodes.used(slot), Resources());
  EXPECT_EQ(nodes.held(slot), Resources());
  EXPECT_EQ(nodes.device_free(slot)[0].mem_mib, DeviceFree::kUntracked);
}

TEST(NodeTable, TakeAndGiveAreOpposites) {
  NodeTable nodes;
  NodeSpec spec = GpuNode("n1", 2, "T4", 4'000);
  spec.devices[0].gpu_mem_mib = 100;
  const std::uint32_t slot = Insert(nodes, spec);
  const Shape two{
      .cpu_milli = 1'000, .mem_mib = 1, .gpu_mem_mib = 60, .gpu_milli = 1'000, .gpu_count = 2};
  nodes.Take(slot, two, Devices({0, 1}));
  EXPECT_EQ(nodes.used(slot)[ResourceKind::kGpuMilli], 2'000);
  EXPECT_EQ(nodes.used(slot)[ResourceKind::kGpuMemMib], 60) << "of the tracked device only";
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kCpuMilli], 3'000);
  EXPECT_EQ(nodes.whole_free(slot), 0U);
  EXPECT_EQ(nodes.tasks(slot, TaskKind::kTwo), 1U);
  EXPECT_EQ(nodes.tasks(slot, TaskKind::kOne), 0U);
  nodes.Give(slot, two, Devices({0, 1}));
  EXPECT_EQ(nodes.used(slot), Resources());
  EXPECT_EQ(nodes.free(slot), nodes.capacity(slot));
  EXPECT_EQ(nodes.whole_free(slot), 2U);
  EXPECT_EQ(nodes.tasks(slot, TaskKind::kTwo), 0U);
}

TEST(NodeTable, WholeFreeCountsTouchedDevicesOut) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n1", 2));
  const Shape share{.gpu_milli = 1, .gpu_count = 1};
  nodes.Take(slot, share, DeviceMask::Of(1));
  nodes.Take(slot, share, DeviceMask::Of(1));
  EXPECT_EQ(nodes.whole_free(slot), 1U);
  nodes.Give(slot, share, DeviceMask::Of(1));
  EXPECT_EQ(nodes.whole_free(slot), 1U);
  nodes.Give(slot, share, DeviceMask::Of(1));
  EXPECT_EQ(nodes.whole_free(slot), 2U);
}

TEST(NodeTable, DetachedRowsKeepTheirContentAndPlace) {
  NodeTable nodes;
  for (const char* name : {"a", "b", "c"}) Insert(nodes, GpuNode(name, 1));
  const NodeId b = nodes.id(1);
  EXPECT_EQ(nodes.Detach(1), 1U);
  EXPECT_FALSE(nodes.Has(b));
  EXPECT_EQ(std::vector<std::uint32_t>(nodes.order().begin(), nodes.order().end()),
            (std::vector<std::uint32_t>{0, 2}));
  nodes.Reattach(1, 1);
  EXPECT_TRUE(nodes.Has(b));
  EXPECT_EQ(nodes.order()[1], 1U);
  EXPECT_EQ(nodes.whole_free(1), 1U);
}

TEST(NodeTable, ASlotIsReusedByANodeWithAsManyDevices) {
  NodeTable nodes;
  for (const int devices : {1, 2, 1}) Insert(nodes, GpuNode("n", devices), 3);
  for (const std::uint32_t slot : {0U, 1U}) {
    nodes.Take(slot, Shape{.cpu_milli = 9}, {});
    nodes.SetForeign(slot, {.cpu_milli = 1, .device_milli = {400}});
    nodes.Detach(slot);
    nodes.Recycle(slot);
  }
  const NodeId old{.slot = 1, .generation = 0};
  EXPECT_EQ(Insert(nodes, GpuNode("four", 4)), 3U) << "no slot of four devices is free";
  EXPECT_EQ(Insert(nodes, GpuNode("two", 2), 4), 1U);
  EXPECT_EQ(Insert(nodes, GpuNode("one", 1)), 0U);
  EXPECT_EQ(Insert(nodes, GpuNode("one more", 1)), 4U);
  EXPECT_FALSE(nodes.Has(old));
  EXPECT_EQ(nodes.id(1).generation, 1U);
  EXPECT_EQ(nodes.models(1), ModelMask{1} << 4) << "nothing is left of the former node";
  EXPECT_EQ(nodes.used(1), Resources());
  EXPECT_EQ(nodes.foreign(1), Resources());
  EXPECT_EQ(nodes.free(1), nodes.capacity(1));
  EXPECT_EQ(nodes.whole_free(1), 2U);
  EXPECT_EQ(nodes.tasks(1, TaskKind::kCpuOnly), 0U);
}

}  // namespace
}  // namespace gpusched
