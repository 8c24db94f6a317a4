#include "gpusched/state/device_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

DeviceSpec A100(SharingMode sharing = SharingMode::kMig, bool on_demand = true) {
  return {.model = "A100-SXM4-40GB",
          .gpu_mem_mib = 40'960,
          .sharing = sharing,
          .partition_on_demand = on_demand};
}

NodeSpec NodeOf(std::vector<DeviceSpec> devices) {
  return {.name = "n", .cpu_milli = 1'000, .mem_mib = 1'000, .devices = std::move(devices)};
}

ShapeSpec Profile(const std::string& name, std::int64_t count = 1) {
  return {.gpu_count = count, .models = {}, .mig_profile = name};
}

class OneNode : public testing::Test {
 protected:
  void Build(std::vector<DeviceSpec> devices) {
    id_ = cluster_.AddNode(NodeOf(std::move(devices)));
  }
  NodeView node() const { return cluster_.node(id_); }
  bool CanTake(const ShapeSpec& ask) { return Fits(node(), cluster_.ShapeOf(ask)); }

  // Places it where the library would, and says where.
  std::vector<MigInstance> Put(const ShapeSpec& ask) {
    const Shape shape = cluster_.ShapeOf(ask);
    EXPECT_TRUE(Fits(node(), shape));
    const Placement placement =
        PlacementOf(node(), shape, ChooseDevices(node(), shape, DeviceOrder::kFullestFirst));
    PutAt(ask, placement.instances, placement.devices);
    return placement.instances;
  }
  void PutAt(const ShapeSpec& ask, const std::vector<MigInstance>& instances, DeviceMask devices) {
    const ShapeId shape = cluster_.Intern(ask);
    Transaction transaction(cluster_.state);
    const auto task = transaction.Place("t" + std::to_string(next_++), shape,
                                        {.node = id_, .devices = devices, .instances = instances});
    EXPECT_TRUE(task.ok()) << task.status();
    transaction.Commit();
  }
  void PutAt(const std::string& profile, std::int32_t start) {
    PutAt(Profile(profile), {{0, profile, start}}, DeviceMask::Of(0));
  }

  TestCluster cluster_;
  NodeId id_;
  int next_ = 0;
};

using Instances = std::vector<MigInstance>;

TEST_F(OneNode, ALoneThreeGoesToFour) {
  Build({A100()});
  EXPECT_EQ(Put(Profile("3g.20gb")), (Instances{{0, "3g.20gb", 4}}));
  EXPECT_EQ(Put(Profile("4g.20gb")), (Instances{{0, "4g.20gb", 0}}));
  EXPECT_FALSE(CanTake(Profile("1g.5gb")));
}

TEST_F(OneNode, FourThenThree) {
  Build({A100()});
  EXPECT_EQ(Put(Profile("4g.20gb")), (Instances{{0, "4g.20gb", 0}}));
  EXPECT_EQ(Put(Profile("3g.20gb")), (Instances{{0, "3g.20gb", 4}}));
}

TEST_F(OneNode, FourWideOnesLeaveNoRoomForSmallOnes) {
  Build({A100()});
  EXPECT_EQ(Put(Profile("1g.10gb", 4)).size(), 4U);
  EXPECT_FALSE(CanTake(Profile("1g.5gb"))) << "8 memory slices are taken, 4 compute slices";
}

TEST_F(OneNode, HolesTakeOneTwoAndNoThree) {
  Build({A100()});
  for (const std::int32_t start : {0, 1, 5}) PutAt("1g.5gb", start);
  EXPECT_TRUE(CanTake(Profile("2g.10gb")));
  EXPECT_FALSE(CanTake(Profile("2g.10gb", 2)));
  EXPECT_FALSE(CanTake(Profile("3g.20gb")));
  EXPECT_TRUE(CanTake(Profile("1g.5gb", 4)));
  EXPECT_FALSE(CanTake(Profile("1g.5gb", 5)));
  EXPECT_EQ(Put(Profile("2g.10gb")), (Instances{{0, "2g.10gb", 2}}));
}

TEST_F(OneNode, SeveralInstancesOfOneDeviceOrOfSeveral) {
  Build({A100(), A100()});
  EXPECT_EQ(Put(Profile("3g.20gb", 2)), (Instances{{0, "3g.20gb", 0}, {0, "3g.20gb", 4}}))
      << "the broken device before the whole one";
  ShapeSpec apart = Profile("1g.5gb", 2);
  apart.distinct_devices = true;
  EXPECT_FALSE(CanTake(apart));
  EXPECT_TRUE(CanTake(Profile("1g.5gb", 7)));
}

TEST_F(OneNode, DistinctDevices) {
  Build({A100(), A100()});
  ShapeSpec apart = Profile("1g.5gb", 2);
  apart.distinct_devices = true;
  EXPECT_EQ(Put(apart), (Instances{{0, "1g.5gb", 6}, {1, "1g.5gb", 6}}));
}

TEST_F(OneNode, ABrokenDeviceComesBeforeAWholeOne) {
  Build({A100(SharingMode::kFraction), A100(SharingMode::kFraction)});
  PutAt("1g.5gb", 0);
  EXPECT_EQ(Put(Profile("1g.5gb"))[0].device, 0);
  EXPECT_EQ(Put(Profile("7g.40gb")), (Instances{{1, "7g.40gb", 0}}));
}

TEST_F(OneNode, FixedPartitionsAreAllThereIs) {
  DeviceSpec device = A100(SharingMode::kMig, false);
  device.partitions = {{"3g.20gb", 0}, {"2g.10gb", 4}};
  Build({device});
  EXPECT_FALSE(CanTake(Profile("1g.5gb")));
  EXPECT_FALSE(CanTake(Profile("3g.20gb", 2)));
  EXPECT_EQ(Put(Profile("3g.20gb")), (Instances{{0, "3g.20gb", 0}}));
  EXPECT_FALSE(CanTake(Profile("3g.20gb")));
  EXPECT_TRUE(CanTake(Profile("2g.10gb")));
}

TEST_F(OneNode, MixedDevicesKeepTheirFixedPartitions) {
  DeviceSpec device = A100();
  device.partitions = {{"2g.10gb", 2}};
  Build({device});
  EXPECT_FALSE(CanTake(Profile("4g.20gb"))) << "the partition is there, used or not";
  EXPECT_TRUE(CanTake(Profile("3g.20gb")));
  EXPECT_EQ(Put(Profile("2g.10gb", 2)), (Instances{{0, "2g.10gb", 0}, {0, "2g.10gb", 2}}))
      << "start 4 is kept for a 3g.20gb";
}

TEST_F(OneNode, MediaEnginesAreGivenOnceADevice) {
  Build({A100(), A100()});
  EXPECT_TRUE(CanTake(Profile("1g.5gb+me", 2)));
  EXPECT_FALSE(CanTake(Profile("1g.5gb+me", 3)));
}

TEST_F(OneNode, APartitionThatNobodyUsesKeepsTheMediaEngines) {
  DeviceSpec device = A100();
  device.partitions = {{"1g.5gb+me", 0}};
  Build({device});
  EXPECT_FALSE(CanTake(Profile("1g.5gb+me", 2)));
  EXPECT_EQ(Put(Profile("1g.5gb+me")), (Instances{{0, "1g.5gb+me", 0}}));
  EXPECT_FALSE(CanTake(Profile("1g.5gb+me")));
}

TEST_F(OneNode, MemoryIsServedByWhateverHasIt) {
  const ShapeSpec twenty{.gpu_count = 1, .gpu_mem_mib = 19'000, .models = {}};
  DeviceSpec small{.model = "T4", .gpu_mem_mib = 15'360};
  Build({small, A100()});
  EXPECT_EQ(Put(twenty), (Instances{{1, "3g.20gb", 4}})) << "the least profile that has it";
  EXPECT_EQ(Put(twenty), (Instances{{1, "3g.20gb", 0}}));
  EXPECT_FALSE(CanTake(twenty));
  ShapeSpec less = twenty;
  less.gpu_mem_mib = 15'000;
  EXPECT_TRUE(Put(less).empty()) << "a share of the T4's memory";
  EXPECT_EQ(node().devices()[0].mem_mib, 360);
}

TEST_F(OneNode, MemoryOfAnExclusiveDeviceIsTheWholeOfIt) {
  DeviceSpec device = A100(SharingMode::kExclusive, false);
  Build({device});
  const ShapeSpec ask{.gpu_count = 1, .gpu_mem_mib = 1'000, .models = {}};
  EXPECT_TRUE(Put(ask).empty());
  EXPECT_EQ(node().gpu_free_milli(), 0);
  EXPECT_FALSE(CanTake(ask));
}

TEST_F(OneNode, ModesCanBeNarrowed) {
  Build({A100(SharingMode::kFraction, true)});
  ShapeSpec ask{.gpu_count = 1, .gpu_mem_mib = 4'000, .models = {}};
  ask.sharing = {SharingMode::kMig};
  EXPECT_EQ(Put(ask), (Instances{{0, "1g.5gb", 6}}));
  ask.sharing = {SharingMode::kFraction};
  EXPECT_FALSE(CanTake(ask)) << "the device is partitioned now";
}

TEST_F(OneNode, WholeDevicesKeepOffThoseThatCouldBePartitioned) {
  Build({A100(SharingMode::kFraction, true), A100(SharingMode::kFraction, false)});
  const Shape whole = cluster_.ShapeOf(WholeGpus(1));
  EXPECT_EQ(ChooseDevices(node(), whole, {}).devices, DeviceMask::Of(1));
  EXPECT_EQ(SliceLoss(node(), whole, DeviceMask::Of(1)), 0);
  EXPECT_GT(SliceLoss(node(), whole, DeviceMask::Of(0)), 0);
}

TEST_F(OneNode, WhatIsTakenIsWhatIsNotFreeAfterwards) {
  DeviceSpec thirds = A100(SharingMode::kMps, false);
  thirds.replicas = 3;
  Build({thirds, A100()});
  const Shape share = cluster_.ShapeOf(ShareOf(100));
  EXPECT_EQ(MilliTaken(node(), share, DeviceMask::Of(0)), 334) << "1000 − ⌊1000 · 2/3⌋";
  const Shape three = cluster_.ShapeOf(Profile("3g.20gb"));
  EXPECT_EQ(MilliTaken(node(), three, ChooseDevices(node(), three, {})), 429);
}

}  // namespace
}  // namespace gpusched
