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
  EXPECT_EQ(nodes.used(slot)[ResourceKind::kGpuMemMib], 120) << "also of the untracked device";
  EXPECT_EQ(nodes.device_free(slot)[0].mem_mib, 40);
  EXPECT_EQ(nodes.device_free(slot)[1].mem_mib, DeviceFree::kUntracked) << "holds nobody back";
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

// --- a node that is not what it was -------------------------------------------------------------

void Update(NodeTable& nodes, std::uint32_t slot, const NodeSpec& spec, std::uint32_t model = 0) {
  nodes.Update(slot, spec, std::vector<std::uint32_t>(spec.devices.size(), model));
}

std::vector<std::int32_t> FreeMilli(const NodeTable& nodes, std::uint32_t slot) {
  std::vector<std::int32_t> free;
  for (const DeviceFree& device : nodes.device_free(slot)) free.push_back(device.gpu_milli);
  return free;
}

using Milli = std::vector<std::int32_t>;

TEST(NodeTableUpdate, ReplacesTheCapacityAndKeepsWhatIsUsed) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 2, "T4", 4'000));
  nodes.Take(slot, Shape{.cpu_milli = 1'000, .gpu_milli = 300, .gpu_count = 1}, DeviceMask::Of(1));
  nodes.SetForeign(slot, {.cpu_milli = 500, .device_milli = {100}});
  Update(nodes, slot, GpuNode("n", 3, "T4", 6'000));
  EXPECT_EQ(nodes.capacity(slot)[ResourceKind::kCpuMilli], 6'000);
  EXPECT_EQ(nodes.capacity(slot)[ResourceKind::kGpuMilli], 3'000);
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kCpuMilli], 4'500);
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kGpuMilli], 2'600);
  EXPECT_EQ(nodes.used(slot)[ResourceKind::kGpuMilli], 300);
  EXPECT_EQ(FreeMilli(nodes, slot), (Milli{900, 700, 1'000}));
  EXPECT_EQ(nodes.whole_free(slot), 1U);
  EXPECT_EQ(nodes.tasks(slot, TaskKind::kShare), 1U);
}

TEST(NodeTableUpdate, FreeIsNeverNegative) {
  NodeTable nodes;
  NodeSpec spec = GpuNode("n", 1, "T4", 4'000);
  spec.devices[0].gpu_mem_mib = 100;
  const std::uint32_t slot = Insert(nodes, spec);
  const Shape shape{
      .cpu_milli = 3'000, .mem_mib = 9, .gpu_mem_mib = 60, .gpu_milli = 800, .gpu_count = 1};
  nodes.Take(slot, shape, DeviceMask::Of(0));
  NodeSpec smaller = spec;
  smaller.cpu_milli = 1'000;
  smaller.mem_mib = 8;
  smaller.devices[0].gpu_milli = 500;
  smaller.devices[0].gpu_mem_mib = 50;
  Update(nodes, slot, smaller);
  EXPECT_EQ(nodes.free(slot), Resources());
  EXPECT_EQ(nodes.device_free(slot)[0].gpu_milli, 0);
  EXPECT_EQ(nodes.device_free(slot)[0].mem_mib, 0);
  nodes.Give(slot, shape, DeviceMask::Of(0));
  EXPECT_EQ(nodes.free(slot), nodes.capacity(slot)) << "nothing was lost on the way";
}

TEST(NodeTableUpdate, ALostDeviceIsListedWhileItIsUsed) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 4));
  const Shape whole{.gpu_milli = 1'000, .gpu_count = 1};
  nodes.Take(slot, whole, DeviceMask::Of(2));
  Update(nodes, slot, GpuNode("n", 1));
  EXPECT_EQ(nodes.declared_devices(slot), 1U);
  EXPECT_EQ(FreeMilli(nodes, slot), (Milli{1'000, 0, 0})) << "up to the one that is used";
  EXPECT_EQ(nodes.capacity(slot)[ResourceKind::kGpuMilli], 1'000);
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kGpuMilli], 1'000);
  EXPECT_EQ(nodes.whole_free(slot), 1U);
  nodes.Give(slot, whole, DeviceMask::Of(2));
  EXPECT_EQ(FreeMilli(nodes, slot), Milli{1'000});
  EXPECT_EQ(nodes.used(slot), Resources());
}

TEST(NodeTableUpdate, ALostDeviceIsListedWhileItIsHeld) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 2));
  const Shape whole{.gpu_milli = 1'000, .gpu_count = 1};
  nodes.AddHeld(slot, whole, DeviceMask::Of(1), 1);
  Update(nodes, slot, GpuNode("n", 0));
  EXPECT_EQ(nodes.devices(slot).size(), 2U);
  nodes.AddHeld(slot, whole, DeviceMask::Of(1), -1);
  EXPECT_EQ(nodes.devices(slot).size(), 0U);
  EXPECT_EQ(nodes.models(slot), ModelMask{0});
}

TEST(NodeTableUpdate, ANodeThatGrowsBeyondItsRowsDisturbsNoOther) {
  NodeTable nodes;
  const std::uint32_t first = Insert(nodes, GpuNode("a", 1), 2);
  const std::uint32_t second = Insert(nodes, GpuNode("b", 2), 3);
  const Shape share{.gpu_milli = 300, .gpu_count = 1};
  nodes.Take(first, share, DeviceMask::Of(0));
  nodes.Take(second, share, DeviceMask::Of(1));
  Update(nodes, first, GpuNode("a", 3), 2);
  EXPECT_EQ(FreeMilli(nodes, first), (Milli{700, 1'000, 1'000}));
  EXPECT_EQ(FreeMilli(nodes, second), (Milli{1'000, 700}));
  EXPECT_EQ(nodes.device_free(first)[2].model, 2U);
  EXPECT_EQ(nodes.device_free(second)[0].model, 3U);
}

TEST(NodeTableUpdate, TakesTheModelsOfWhatIsThereNow) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 2), 1);
  Update(nodes, slot, GpuNode("n", 1), 5);
  EXPECT_EQ(nodes.models(slot), ModelMask{1} << 5);
  Update(nodes, slot, GpuNode("n", 0));
  EXPECT_EQ(nodes.models(slot), ModelMask{0});
}

TEST(NodeTableUpdate, ASlotIsReusedByANodeWithAsManyDevicesAsItHadAtMost) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 1));
  Update(nodes, slot, GpuNode("n", 3));
  Update(nodes, slot, GpuNode("n", 1));
  nodes.Detach(slot);
  nodes.Recycle(slot);
  EXPECT_EQ(Insert(nodes, GpuNode("one", 1)), slot + 1);
  EXPECT_EQ(Insert(nodes, GpuNode("three", 3)), slot);
  EXPECT_EQ(FreeMilli(nodes, slot), (Milli{1'000, 1'000, 1'000}));
  EXPECT_EQ(nodes.free(slot), nodes.capacity(slot));
  EXPECT_EQ(nodes.whole_free(slot), 3U);
}

// A device list that is told again and again, as a watch does, is the same list. (S-26)
TEST(NodeTableUpdate, ToldAgainItChangesNothing) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 2, "T4", 4'000));
  nodes.Take(slot, Shape{.cpu_milli = 1, .gpu_milli = 300, .gpu_count = 1}, DeviceMask::Of(1));
  NodeSpec larger = GpuNode("n", 4, "T4", 8'000);
  larger.devices[3].gpu_mem_mib = 7;
  for (int i = 0; i < 3; ++i) {
    Update(nodes, slot, larger);
    EXPECT_EQ(nodes.capacity(slot)[ResourceKind::kGpuMilli], 4'000);
    EXPECT_EQ(nodes.capacity(slot)[ResourceKind::kGpuMemMib], 7);
    EXPECT_EQ(nodes.free(slot)[ResourceKind::kGpuMilli], 3'700);
    EXPECT_EQ(nodes.free(slot)[ResourceKind::kGpuMemMib], 7);
    EXPECT_EQ(nodes.free(slot)[ResourceKind::kCpuMilli], 7'999);
    EXPECT_EQ(nodes.whole_free(slot), 3U);
    EXPECT_EQ(nodes.order().size(), 1U);
  }
}

TEST(NodeTable, HeldCapacityIsNeitherFreeNorUsed) {
  NodeTable nodes;
  NodeSpec spec = GpuNode("n", 1, "T4", 4'000);
  spec.devices[0].gpu_mem_mib = 100;
  const std::uint32_t slot = Insert(nodes, spec);
  const Shape shape{
      .cpu_milli = 1'000, .mem_mib = 0, .gpu_mem_mib = 30, .gpu_milli = 400, .gpu_count = 1};
  nodes.AddHeld(slot, shape, DeviceMask::Of(0), 1);
  EXPECT_EQ(nodes.held(slot)[ResourceKind::kGpuMilli], 400);
  EXPECT_EQ(nodes.free(slot)[ResourceKind::kCpuMilli], 3'000);
  EXPECT_EQ(nodes.device_free(slot)[0].gpu_milli, 600);
  EXPECT_EQ(nodes.device_free(slot)[0].mem_mib, 70);
  EXPECT_EQ(nodes.used(slot), Resources());
  EXPECT_EQ(nodes.whole_free(slot), 0U);
  nodes.AddHeld(slot, shape, DeviceMask::Of(0), -1);
  EXPECT_EQ(nodes.free(slot), nodes.capacity(slot));
}

TEST(NodeTable, ANodeOfASlotThatIsReusedIsNotCordoned) {
  NodeTable nodes;
  const std::uint32_t slot = Insert(nodes, GpuNode("n", 1));
  EXPECT_FALSE(nodes.cordoned(slot));
  nodes.SetCordoned(slot, true);
  EXPECT_TRUE(nodes.cordoned(slot));
  nodes.Detach(slot);
  nodes.Recycle(slot);
  EXPECT_EQ(Insert(nodes, GpuNode("m", 1)), slot);
  EXPECT_FALSE(nodes.cordoned(slot));
}

}  // namespace
}  // namespace gpusched
