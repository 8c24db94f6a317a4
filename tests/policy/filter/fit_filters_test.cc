#include "gpusched/policy/filter/fit_filters.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "cluster_fixture.h"
#include "gpusched/state/fit.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

testing::AssertionResult Says(const Shortfall& answer, Verdict verdict, std::int64_t need,
                              std::int64_t have) {
  if (answer.verdict == verdict && answer.need == need && answer.have == have) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << ReasonName(answer.verdict.reason) << ", outcome "
                                     << static_cast<int>(answer.verdict.outcome) << ", need "
                                     << answer.need << ", have " << answer.have;
}

// Two devices of 8,000 MiB, the first with 600 of 1000 milli and 7,000 MiB free; 4 cores, of which
// 3 are free; 100 MiB, of which 60 are free.
class FitFiltersTest : public testing::Test {
 protected:
  FitFiltersTest() {
    NodeSpec spec = GpuNode("n", 2, "T4", 4'000);
    spec.mem_mib = 100;
    for (DeviceSpec& device : spec.devices) device.gpu_mem_mib = 8'000;
    id = cluster.AddNode(spec);
    cluster.Place("t",
                  {.cpu_milli = 1'000,
                   .mem_mib = 40,
                   .gpu_count = 1,
                   .gpu_milli = 400,
                   .gpu_mem_mib = 1'000,
                   .models = {}},
                  id, DeviceMask::Of(0));
  }

  template <class Filter>
  Shortfall Ask(const Filter& filter, const ShapeSpec& spec) {
    return filter(cluster.node(id), cluster.ShapeOf(spec));
  }

  TestCluster cluster;
  NodeId id;
};

TEST_F(FitFiltersTest, CpuWaitsWhenTakenAndIsNeverBeyondCapacity) {
  EXPECT_TRUE(Says(Ask(EnoughCpu(), CpuTask(3'000)), Verdict::Ok(), 0, 0));
  constexpr Reason kReason = Reason::kInsufficientCpu;
  EXPECT_TRUE(Says(Ask(EnoughCpu(), CpuTask(3'001)), Verdict::Wait(kReason), 3'001, 3'000));
  EXPECT_TRUE(Says(Ask(EnoughCpu(), CpuTask(4'000)), Verdict::Wait(kReason), 4'000, 3'000));
  EXPECT_TRUE(Says(Ask(EnoughCpu(), CpuTask(4'001)), Verdict::Never(kReason), 4'001, 3'000));
}

TEST_F(FitFiltersTest, MemoryWaitsWhenTakenAndIsNeverBeyondCapacity) {
  constexpr Reason kReason = Reason::kInsufficientMemory;
  EXPECT_TRUE(Says(Ask(EnoughMemory(), CpuTask(0, 60)), Verdict::Ok(), 0, 0));
  EXPECT_TRUE(Says(Ask(EnoughMemory(), CpuTask(0, 61)), Verdict::Wait(kReason), 61, 60));
  EXPECT_TRUE(Says(Ask(EnoughMemory(), CpuTask(0, 101)), Verdict::Never(kReason), 101, 60));
}

TEST_F(FitFiltersTest, ModelsAreNeverSomethingToWaitFor) {
  ShapeSpec other = ShareOf(1);
  other.models = {"A10"};
  EXPECT_TRUE(Says(Ask(ModelAllowed(), other), Verdict::Never(Reason::kModelNotAllowed), 0, 0));
  other.models = {"A10", "T4"};
  EXPECT_TRUE(Says(Ask(ModelAllowed(), other), Verdict::Ok(), 0, 0));
  EXPECT_TRUE(Says(Ask(ModelAllowed(), ShareOf(1)), Verdict::Ok(), 0, 0));
  EXPECT_TRUE(Says(Ask(ModelAllowed(), CpuTask(1)), Verdict::Ok(), 0, 0));
}

TEST_F(FitFiltersTest, AShareNeedsOneDeviceWithRoom) {
  constexpr Reason kReason = Reason::kNoDeviceWithRoom;
  EXPECT_TRUE(Says(Ask(EnoughDevices(), ShareOf(999)), Verdict::Ok(), 0, 0));
  cluster.Place("u", ShareOf(700), id, DeviceMask::Of(1));
  EXPECT_TRUE(Says(Ask(EnoughDevices(), ShareOf(600)), Verdict::Ok(), 0, 0));
  EXPECT_TRUE(Says(Ask(EnoughDevices(), ShareOf(601)), Verdict::Wait(kReason), 601, 600));
}

TEST_F(FitFiltersTest, AShareMayLackOnlyTheDevicesMemory) {
  constexpr Reason kReason = Reason::kInsufficientGpuMemory;
  ShapeSpec ask = ShareOf(500);
  ask.gpu_mem_mib = 8'000;
  EXPECT_TRUE(Says(Ask(EnoughDevices(), ask), Verdict::Ok(), 0, 0));
  ask.gpu_mem_mib = 8'001;
  EXPECT_TRUE(Says(Ask(EnoughDevices(), ask), Verdict::Never(kReason), 8'001, 8'000));
  cluster.Place("u", WholeGpus(1), id, DeviceMask::Of(1));
  ask.gpu_mem_mib = 7'001;
  EXPECT_TRUE(Says(Ask(EnoughDevices(), ask), Verdict::Wait(kReason), 7'001, 7'000));
}

TEST_F(FitFiltersTest, WholeDevicesAreCounted) {
  constexpr Reason kReason = Reason::kTooFewWholeDevices;
  EXPECT_TRUE(Says(Ask(EnoughDevices(), WholeGpus(1)), Verdict::Ok(), 0, 0));
  EXPECT_TRUE(Says(Ask(EnoughDevices(), WholeGpus(2)), Verdict::Wait(kReason), 2, 1));
  EXPECT_TRUE(Says(Ask(EnoughDevices(), WholeGpus(3)), Verdict::Never(kReason), 3, 1));
  EXPECT_TRUE(Says(Ask(EnoughDevices(), CpuTask(1)), Verdict::Ok(), 0, 0));
}

TEST_F(FitFiltersTest, ACordonedNodeIsSomethingToWaitFor) {
  EXPECT_TRUE(Says(Ask(NotCordoned(), CpuTask(1)), Verdict::Ok(), 0, 0));
  Transaction transaction(cluster.state);
  ASSERT_TRUE(transaction.SetCordoned(id, true).ok());
  EXPECT_TRUE(Says(Ask(NotCordoned(), CpuTask(1)), Verdict::Wait(Reason::kCordoned), 0, 0));
  EXPECT_TRUE(Says(Ask(FitFilters(), CpuTask(9'000)), Verdict::Wait(Reason::kCordoned), 0, 0))
      << "it is the first that is asked";
  EXPECT_FALSE(Fits(cluster.node(id), cluster.ShapeOf(CpuTask(1))));
}

TEST(FitFilters, WholeDevicesMayLackOnlyTheirMemory) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n", 2, "T4");
  spec.devices[0].gpu_mem_mib = 8'000;
  spec.devices[1].gpu_mem_mib = 6'000;
  const NodeId id = cluster.AddNode(spec);
  ShapeSpec ask = WholeGpus(2);
  ask.gpu_mem_mib = 7'000;
  EXPECT_TRUE(Says(EnoughDevices()(cluster.node(id), cluster.ShapeOf(ask)),
                   Verdict::Never(Reason::kInsufficientGpuMemory), 7'000, 6'000));
}

TEST(FitFilters, DevicesOfOtherModelsAreNoRoom) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n", 2, "T4");
  spec.devices[1].model = "A10";
  const NodeId id = cluster.AddNode(spec);
  cluster.Place("t", ShareOf(300), id, DeviceMask::Of(1));
  ShapeSpec ask = WholeGpus(1);
  ask.models = {"A10"};
  EXPECT_TRUE(Says(EnoughDevices()(cluster.node(id), cluster.ShapeOf(ask)),
                   Verdict::Wait(Reason::kTooFewWholeDevices), 1, 0));
  ask.gpu_milli = 800;
  EXPECT_TRUE(Says(EnoughDevices()(cluster.node(id), cluster.ShapeOf(ask)),
                   Verdict::Wait(Reason::kNoDeviceWithRoom), 800, 700));
}

TEST(FitFilters, YesExactlyWhereFitsAndNeverExactlyWhereTheEmptyNodeWouldNot) {
  int waits = 0;
  int nevers = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 5);
    // The same nodes with nothing on them: all tasks released, all foreign use gone.
    TestCluster empty;
    for (const std::uint32_t slot : cluster.state.nodes().order()) {
      const NodeView node = cluster.state.node(slot);
      NodeSpec spec{.name = std::string(cluster.state.node_name(node.id())),
                    .cpu_milli = node.capacity()[ResourceKind::kCpuMilli],
                    .mem_mib = node.capacity()[ResourceKind::kMemMib],
                    .devices = {}};
      for (std::size_t i = 0; i < node.devices().size(); ++i) {
        const DeviceLedger& ledger = node.device_ledgers()[i];
        DeviceSpec device{
            .model = std::string(cluster.state.models().name(node.devices()[i].model)),
            .gpu_milli = ledger.capacity.gpu_milli,
            .gpu_mem_mib = std::nullopt};
        if (ledger.mem_tracked) device.gpu_mem_mib = ledger.capacity.mem_mib;
        spec.devices.push_back(device);
      }
      const NodeId twin = empty.AddNode(spec);
      for (int i = 0; i < 10; ++i) {
        const ShapeSpec ask = RandomShape(rng);
        const Shape shape = cluster.ShapeOf(ask);
        bool never = false;
        bool ok = true;
        FitFilters().ForEach(node, shape, [&](const Shortfall& answer) {
          ok = ok && answer.verdict.ok();
          never = never || answer.verdict.outcome == Outcome::kNever;
          ASSERT_TRUE(answer.verdict.ok() || answer.need == 0 || answer.have < answer.need);
        });
        ASSERT_EQ(ok, Fits(node, shape)) << "seed " << seed;
        ASSERT_EQ(FitFilters()(node, shape).verdict.ok(), ok);
        ASSERT_EQ(never, !Fits(empty.node(twin), empty.ShapeOf(ask))) << "seed " << seed;
        waits += !ok && !never ? 1 : 0;
        nevers += never ? 1 : 0;
      }
    }
  }
  EXPECT_GT(waits, 300);
  EXPECT_GT(nevers, 1'000);
}

}  // namespace
}  // namespace gpusched
