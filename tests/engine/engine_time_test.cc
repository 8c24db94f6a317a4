// What happens because time passes: placements that nobody acknowledges expire.
#include <gtest/gtest.h>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

// A job of two tasks that are placed at 1,000 and expire at 1,300.
class ExpiryTest : public testing::Test {
 protected:
  ExpiryTest() {
    world.Node(GpuNode("a", 2));
    world.Submit(Loose("j", 2, WholeGpus(1)));
    world.Cycle(1'000);
  }

  TestEngine world{EngineSettings{.start_timeout = 300, .repair_timeout = 500}};
};

TEST_F(ExpiryTest, APlacementThatNobodyAcknowledgesIsQueuedAgainAtItsDeadline) {
  EXPECT_EQ(Requeued(world.Tell(Tick{1'299})), "");
  EXPECT_EQ(Requeued(world.Tell(Tick{1'300})), "j/main/0#1 j/main/1#1");
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 2U);
  EXPECT_EQ(world.Cycle(), "j/main/0#2@a, j/main/1#2@a");
}

TEST_F(ExpiryTest, OneThatRunsDoesNotExpire) {
  world.Tell(TaskStarted{Key("j", 0), {}});
  EXPECT_EQ(Requeued(world.Tell(Tick{9'000})), "j/main/1#1");
}

TEST_F(ExpiryTest, ALateStartOfAnExpiredAttemptChangesNothing) {
  world.Tell(Tick{1'300});
  EXPECT_EQ(world.Ignored(TaskStarted{Key("j", 0), {}}),
            "attempt 1 of 'j/main/0' is over; attempt 2 is pending");
}

TEST_F(ExpiryTest, ACommitSaysWhatHasExpiredByItsTime) {
  const Plan plan = world.Decide(1'300);
  EXPECT_EQ(Story(plan), "j/main/0#2@a, j/main/1#2@a");
  const auto effect = world.engine.Commit(plan);
  ASSERT_TRUE(IsOk(effect.status()));
  EXPECT_EQ(Requeued(*effect), "j/main/0#1 j/main/1#1");
  EXPECT_EQ(world.Task("j", 0).deadline, 1'600);
}

TEST_F(ExpiryTest, ToDecideForALaterTimeExpiresNothing) {
  world.Decide(5'000);
  EXPECT_EQ(world.engine.state().now(), 1'000);
  EXPECT_EQ(world.Task("j", 0).phase, TaskPhase::kAssumed);
}

TEST_F(ExpiryTest, TimesAreCheckedInTheOrderInWhichTheyWereTold) {
  world.Tell(Tick{2'000});
  world.Cycle(2'100);
  EXPECT_EQ(world.Task("j", 0).deadline, 2'400);
}

TEST(Expiry, OfAMemberPutsAGangInRepair) {
  TestEngine world({.start_timeout = 300, .repair_timeout = 500});
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("g", 2, WholeGpus(1)));
  world.Cycle(1'000);
  world.Tell(TaskStarted{Key("g", 0), {}});
  world.Tell(Tick{1'300});
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, 1'800);
}

// Expiry and repair deadline come at once: first it expires, then it is too late to repair.
TEST(Expiry, ATimeFarBeyondAllDeadlinesIsOneStep) {
  TestEngine world({.start_timeout = 300, .repair_timeout = 500});
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("g", 2, WholeGpus(1)));
  world.Cycle(1'000);
  world.Tell(TaskStarted{Key("g", 0), {}});
  EXPECT_EQ(world.Cycle(50'000), "g/main/1#2@a") << "the loss is known since now";
}

TEST(Expiry, ARepairTimeoutOfZeroReleasesAtOnce) {
  TestEngine world({.repair_timeout = 0});
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("g", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskFailed{Key("g", 0)});
  EXPECT_EQ(world.Cycle(), "-g/main/1 GangNotWhole, g waits BeingReleased");
}

TEST(Expiry, OfASurplusTaskMakesItGone) {
  TestEngine world({.start_timeout = 300});
  world.Node(GpuNode("a", 2));
  world.Submit(Service("s", 2, WholeGpus(1)));
  world.Cycle(0);
  world.Tell(TaskStarted{Key("s", 0), {}});
  UpdateJob update = Rewish("s");
  update.groups = {Resized("main", 1)};
  world.Tell(update);
  world.Tell(Tick{300});
  EXPECT_EQ(world.engine.Job("s")->tasks.size(), 1U);
  EXPECT_EQ(world.Cycle(), "");
}

TEST(Expiry, OfTheLastTaskOfACancelledJobEndsIt) {
  TestEngine world({.start_timeout = 300});
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle(0);
  world.Tell(CancelJob{"j"});
  const Effect effect = world.Tell(Tick{300});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kCancelled);
}

}  // namespace
}  // namespace gpusched
