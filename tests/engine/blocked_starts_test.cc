#include "gpusched/engine/blocked_starts.h"

#include <gtest/gtest.h>

#include <string>

#include "cluster_fixture.h"
#include "gpusched/engine/explain.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/score/mig_start.h"

namespace gpusched {
namespace {

ShapeSpec Profile(const std::string& name) {
  return {.gpu_count = 1, .models = {}, .mig_profile = name};
}

class BlockedStartsTest : public testing::Test {
 protected:
  BlockedStartsTest() {
    NodeSpec spec = GpuNode("n", 1, "A100-SXM4-40GB");
    spec.devices[0].partition_on_demand = true;
    node_ = cluster_.AddNode(spec);
  }
  void Put(const std::string& task, const std::string& profile, std::int32_t start) {
    const ShapeId shape = cluster_.Intern(Profile(profile));
    Transaction transaction(cluster_.state);
    EXPECT_TRUE(
        transaction
            .Place(
                task, shape,
                {.node = node_, .devices = DeviceMask::Of(0), .instances = {{0, profile, start}}})
            .ok());
    transaction.Commit();
  }
  std::string Text(const std::string& profile) {
    return BlockedStartsText(
        BlockedStarts(cluster_.state, node_, cluster_.ShapeOf(Profile(profile))));
  }

  TestCluster cluster_;
  NodeId node_;
};

TEST_F(BlockedStartsTest, NamesWhoIsInTheWay) {
  EXPECT_EQ(Text("3g.20gb"), "");
  Put("a", "1g.5gb", 0);
  Put("b", "1g.5gb", 1);
  Put("c", "1g.5gb", 5);
  EXPECT_EQ(Text("3g.20gb"),
            "device 0: start 0 is taken by 'a' (1g.5gb at 0) and 'b' (1g.5gb at 1), start 4 is "
            "taken by 'c' (1g.5gb at 5)");
  EXPECT_EQ(BlockedStarts(cluster_.state, node_, cluster_.ShapeOf(Profile("2g.10gb"))).size(), 2U);
  EXPECT_TRUE(BlockedStarts(cluster_.state, node_, cluster_.ShapeOf(ShareOf(1))).empty());
}

TEST_F(BlockedStartsTest, SomebodyOnTheWholeDeviceIsInTheWayOfAll) {
  cluster_.Place("whole", WholeGpus(1), node_, DeviceMask::Of(0));
  EXPECT_EQ(Text("7g.40gb"), "device 0: start 0 is taken by 'whole'");
  const auto all = BlockedStarts(cluster_.state, node_, cluster_.ShapeOf(Profile("1g.5gb")));
  EXPECT_EQ(all.size(), 7U);
  EXPECT_EQ(BlockedStartsText(all),
            "device 0: start 0 is taken by 'whole', start 1 is taken by 'whole', start 2 is taken "
            "by 'whole', start 3 is taken by 'whole'; and 3 more starts");
}

TEST_F(BlockedStartsTest, TheRefusalSaysIt) {
  Put("a", "2g.10gb", 0);
  Put("b", "1g.5gb", 5);
  BasicScheduler<MigStart> scheduler(cluster_.state, MigStart{});
  const auto decision = scheduler.Decide(cluster_.Intern(Profile("4g.20gb")));
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->kind, DecisionKind::kWait);
  EXPECT_EQ(decision->refusal.dominant(), Reason::kNoMigPlacement);
  const Shape shape = cluster_.ShapeOf(Profile("4g.20gb"));
  EXPECT_EQ(RefusalText(cluster_.state, decision->refusal, &shape),
            "0 of 1 nodes take it: 1 NoMigPlacement; nearest is 'n': 1 MIG instance asked, 0 can "
            "be placed; device 0: start 0 is taken by 'a' (2g.10gb at 0)");
}

TEST_F(BlockedStartsTest, NeverIsToldApart) {
  BasicScheduler<MigStart> scheduler(cluster_.state, MigStart{});
  const auto kind = [&](const ShapeSpec& ask) {
    return scheduler.Decide(cluster_.Intern(ask))->kind;
  };
  ShapeSpec eight = Profile("1g.5gb");
  eight.gpu_count = 8;
  EXPECT_EQ(kind(eight), DecisionKind::kReject) << "seven is all that there can be";
  EXPECT_EQ(kind(Profile("1g.6gb")), DecisionKind::kReject) << "a profile of another model";
  ShapeSpec replica{.gpu_count = 1, .models = {}, .sharing = {SharingMode::kMps}};
  const auto decision = scheduler.Decide(cluster_.Intern(replica));
  EXPECT_EQ(decision->kind, DecisionKind::kReject);
  EXPECT_EQ(decision->refusal.dominant(), Reason::kSharingNotOffered);
}

}  // namespace
}  // namespace gpusched
