// News of tasks: keyed by (task, attempt), told late, twice, or of what was never placed.
#include <gtest/gtest.h>

#include <string>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

// One node with two devices, and a job of one task that is placed on it.
class NewsTest : public testing::Test {
 protected:
  NewsTest() {
    world.Node(GpuNode("a", 2));
    JobSpec job = Gang("j", 1, WholeGpus(1));
    job.max_attempts = 2;
    world.Submit(job);
    world.Cycle();
  }

  TestEngine world;
};

TEST_F(NewsTest, StartedMakesItRunWithoutADeadline) {
  world.Tell(TaskStarted{Key("j"), {}});
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kRunning);
  EXPECT_EQ(world.Task("j").deadline, kNoDeadline);
  EXPECT_EQ(world.Ignored(TaskStarted{Key("j"), {}}), "'j/main/0' is running already");
}

TEST_F(NewsTest, StartedWithTheCommittedPlaceIsFineAndWithAnotherIsNot) {
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j"), "a", Devices({1}))), Code::kInvalidArgument,
                      {"placed elsewhere", "'a'"}));
  EXPECT_TRUE(
      Refused(world.Refusal(Found(Key("j"), "b", Devices({0}))), Code::kInvalidArgument, {"'b'"}));
  world.Tell(Found(Key("j"), "a", Devices({0})));
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kRunning);
}

TEST_F(NewsTest, FinishedGivesItsCapacityBackAndEndsTheJob) {
  const Effect effect = world.Tell(TaskFinished{Key("j")});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kFinished);
  EXPECT_EQ(Requeued(effect), "");
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 2U);
  EXPECT_EQ(world.Ignored(TaskFinished{Key("j")}), "no job 'j' is here (any more)");
}

TEST_F(NewsTest, FailedQueuesItAgainUnderTheNextAttempt) {
  EXPECT_EQ(Requeued(world.Tell(TaskFailed{Key("j")})), "j/main/0#1");
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kPending);
  EXPECT_EQ(world.Task("j").task.attempt, 2);
  EXPECT_EQ(world.Cycle(), "j/main/0#2@a");
}

TEST_F(NewsTest, NewsOfAnAttemptThatIsOverChangesNothing) {
  world.Tell(TaskFailed{Key("j")});
  const std::string note = "attempt 1 of 'j/main/0' is over; attempt 2 is pending";
  EXPECT_EQ(world.Ignored(TaskStarted{Key("j"), {}}), note);
  EXPECT_EQ(world.Ignored(TaskFinished{Key("j")}), note);
  EXPECT_EQ(world.Ignored(TaskFailed{Key("j")}), note);
  EXPECT_EQ(world.Ignored(TaskEvicted{Key("j")}), note);
  EXPECT_EQ(world.Ignored(Found(Key("j"), "a", Devices({0}))), note);
  world.Cycle();
  EXPECT_NE(world.Ignored(TaskFinished{Key("j")}).find("attempt 2 is assumed"), std::string::npos);
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kAssumed);
}

TEST_F(NewsTest, NewsOfAnAttemptThatWasNeverPlacedIsRefused) {
  for (const std::int64_t attempt : {2, 3}) {
    const TaskKey key = Key("j", 0, attempt);
    EXPECT_TRUE(Refused(world.Refusal(TaskStarted{key, {}}), Code::kInvalidArgument,
                        {"'j/main/0'", "never placed", "assumed at attempt 1"}));
    EXPECT_TRUE(Refused(world.Refusal(TaskFinished{key}), Code::kInvalidArgument));
    EXPECT_TRUE(Refused(world.Refusal(TaskFailed{key}), Code::kInvalidArgument));
    EXPECT_TRUE(Refused(world.Refusal(TaskEvicted{key}), Code::kInvalidArgument));
  }
  world.Tell(TaskFailed{Key("j")});
  EXPECT_TRUE(Refused(world.Refusal(TaskFinished{Key("j", 0, 2)}), Code::kInvalidArgument,
                      {"never placed"}))
      << "the next attempt waits";
}

TEST_F(NewsTest, NewsOfATaskThatTheJobDoesNotHaveIsRefused) {
  EXPECT_TRUE(Refused(world.Refusal(TaskFinished{Key("j", 1)}), Code::kInvalidArgument,
                      {"index", "no such task"}));
  EXPECT_TRUE(Refused(world.Refusal(TaskFinished{Key("j", 0, 1, "x")}), Code::kInvalidArgument,
                      {"group", "'x'"}));
  EXPECT_TRUE(Refused(world.Refusal(TaskFinished{Key("j", -1)}), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(world.Refusal(TaskFinished{Key("j", 0, 0)}), Code::kInvalidArgument));
  EXPECT_EQ(world.Ignored(TaskFinished{Key("nobody")}), "no job 'nobody' is here (any more)");
}

TEST_F(NewsTest, ATaskThatFailsTooOftenEndsItsJob) {
  world.Tell(TaskFailed{Key("j")});
  world.Cycle();
  const Effect effect = world.Tell(TaskFailed{Key("j", 0, 2)});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kFailed);
}

TEST_F(NewsTest, WhatIsLostOrEvictedDoesNotCountAsFailed) {
  world.Tell(RemoveNode{"a"});
  world.Node(GpuNode("a", 2));
  world.Cycle();
  world.Tell(TaskEvicted{Key("j", 0, 2)});
  world.Cycle();
  world.Tell(TaskFailed{Key("j", 0, 3)});
  EXPECT_TRUE(world.Live("j"));
  EXPECT_EQ(world.Cycle(), "j/main/0#4@a");
}

TEST(TaskNews, AFailureEvictsTheOtherTasksOfAJobThatHasFailed) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  JobSpec job = Gang("j", 2, WholeGpus(1));
  job.max_attempts = 1;
  world.Submit(job);
  world.Cycle();
  world.Tell(TaskFailed{Key("j", 0)});
  EXPECT_EQ(world.engine.Job("j")->ending, EvictCause::kJobFailed);
  EXPECT_EQ(world.Cycle(), "-j/main/1 JobFailed");
  const Effect effect = world.Tell(TaskEvicted{Key("j", 1)});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kFailed);
}

TEST(TaskNews, EvictedByOthersQueuesTheTaskAgain) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.StartAll();
  EXPECT_EQ(Requeued(world.Tell(TaskEvicted{Key("j")})), "j/main/0#1");
  EXPECT_EQ(world.Cycle(), "j/main/0#2@a");
}

TEST(TaskNews, AServicesTaskThatFinishesIsStartedAnew) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Service("s", 1, WholeGpus(1)));
  world.Cycle();
  EXPECT_EQ(Requeued(world.Tell(TaskFinished{Key("s")})), "s/main/0#1");
  EXPECT_EQ(world.Cycle(), "s/main/0#2@a");
}

TEST(TaskNews, OfATaskOfABatchJobThatHasFinishedChangesNothing) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskFinished{Key("j", 0)});
  EXPECT_EQ(world.Ignored(TaskFinished{Key("j", 0)}), "'j/main/0' has finished");
  EXPECT_EQ(world.Ignored(TaskFailed{Key("j", 0)}), "'j/main/0' has finished");
  EXPECT_EQ(world.Ignored(TaskEvicted{Key("j", 0)}), "'j/main/0' has finished");
  EXPECT_EQ(world.Ignored(TaskStarted{Key("j", 0), {}}), "'j/main/0' is finished already");
}

// A surplus task that is being stopped: 0 runs, 1 is evicting.
class EvictingTest : public testing::Test {
 protected:
  EvictingTest() {
    world.Node(GpuNode("a", 2));
    JobSpec job = Service("s", 2, WholeGpus(1));
    job.max_attempts = 1;
    world.Submit(job);
    world.Cycle();
    UpdateJob update = Rewish("s");
    update.groups = {Resized("main", 1)};
    world.Tell(update);
    world.Cycle();
  }

  TestEngine world;
};

TEST_F(EvictingTest, HoldsItsCapacityUntilSomebodySaysThatItIsGone) {
  world.Tell(Tick{1'000 * kMinute});
  EXPECT_EQ(world.Task("s", 1).phase, TaskPhase::kEvicting);
  world.Submit(Gang("j", 1, WholeGpus(1)));
  EXPECT_NE(world.Cycle().find("j waits"), std::string::npos);
}

TEST_F(EvictingTest, ToldThatItStartedItIsStillEvicting) {
  EXPECT_EQ(world.Ignored(TaskStarted{Key("s", 1), {}}), "'s/main/1' is evicting already");
}

TEST_F(EvictingTest, AFailureWhileItIsStoppedIsNotTheJobsFault) {
  world.Tell(TaskFailed{Key("s", 1)});
  EXPECT_FALSE(world.engine.Job("s")->ending.has_value());
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
}

TEST_F(EvictingTest, FinishedFreesItToo) {
  world.Tell(TaskFinished{Key("s", 1)});
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
}

TEST_F(EvictingTest, ALostNodeFreesItToo) {
  world.Tell(RemoveNode{"a"});
  EXPECT_EQ(world.engine.Job("s")->tasks.size(), 1U);
}

// --- adoption -----------------------------------------------------------------------------------

class AdoptionTest : public testing::Test {
 protected:
  AdoptionTest() { world.Submit(Loose("j", 3, WholeGpus(1))); }
  TestEngine world;
};

TEST_F(AdoptionTest, ATaskThatIsFoundRunningIsTakenInUnderItsAttempt) {
  world.Node(GpuNode("a", 2));
  world.Tell(Found(Key("j", 0, 5), "a", Devices({1})));
  const TaskStatus task = world.Task("j");
  EXPECT_EQ(task.phase, TaskPhase::kRunning);
  EXPECT_EQ(task.task.attempt, 5);
  EXPECT_EQ(task.devices, Devices({1}));
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
  world.Tell(TaskFailed{Key("j", 0, 5)});
  EXPECT_EQ(world.Task("j").task.attempt, 6);
}

TEST_F(AdoptionTest, AsMuchAsIsFoundIsTakenInAndFreeIsNeverNegative) {
  world.Node(GpuNode("a", 1));
  world.Tell(Found(Key("j", 0), "a", Devices({0})));
  world.Tell(Found(Key("j", 1), "a", Devices({0})));
  EXPECT_EQ(world.engine.state().node(0).gpu_free_milli(), 0);
  EXPECT_TRUE(world.Task("j", 0).over);
  EXPECT_TRUE(world.Task("j", 1).over);
  world.Tell(TaskFinished{Key("j", 0)});
  EXPECT_FALSE(world.Task("j", 1).over);
  EXPECT_EQ(world.engine.state().node(0).gpu_free_milli(), 0);
}

TEST_F(AdoptionTest, ItMayBeOnANodeThatHasNotJoinedYet) {
  world.Tell(Found(Key("j", 0), "a", Devices({0})));
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kRunning);
  EXPECT_EQ(world.Task("j").node, "a");
  EXPECT_EQ(world.Task("j").devices, Devices({0}));
  EXPECT_EQ(Requeued(world.Tell(AddNode{GpuNode("a", 2)})), "");
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
  EXPECT_EQ(world.Cycle(), "j/main/1@a, j waits TooFewWholeDevices");
}

TEST_F(AdoptionTest, IfTheNodeThatJoinsHasNoSuchDeviceTheTaskIsQueuedAgain) {
  world.Tell(Found(Key("j", 0, 2), "a", Devices({3})));
  EXPECT_EQ(Requeued(world.Tell(AddNode{GpuNode("a", 2)})), "j/main/0#2");
  EXPECT_EQ(world.Task("j").task.attempt, 3);
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kPending);
}

TEST_F(AdoptionTest, ANodeThatIsLostBeforeItJoinedQueuesThemAgain) {
  world.Tell(Found(Key("j", 0), "a", Devices({0})));
  EXPECT_EQ(Requeued(world.Tell(RemoveNode{"a"})), "j/main/0#1");
  world.Ignored(RemoveNode{"a"});
}

TEST_F(AdoptionTest, ATaskOnANodeToComeEndsLikeAnyOther) {
  world.Tell(Found(Key("j", 0), "a", Devices({0})));
  world.Tell(TaskFinished{Key("j", 0)});
  world.Node(GpuNode("a", 1));
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kFinished);
}

TEST_F(AdoptionTest, DevicesMustBeAsManyAsTheTaskAsksAndBeThere) {
  world.Node(GpuNode("a", 2));
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j"), "a", {})), Code::kInvalidArgument,
                      {"0 devices", "asks 1"}));
  EXPECT_TRUE(
      Refused(world.Refusal(Found(Key("j"), "a", Devices({0, 1}))), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j"), "a", Devices({2}))), Code::kInvalidArgument,
                      {"device 2", "'a' has 2"}));
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j"), "b", {})), Code::kInvalidArgument));
}

TEST_F(AdoptionTest, ATaskThatIsNotWantedIsToBeStopped) {
  world.Node(GpuNode("a", 2));
  world.Tell(Found(Key("j", 0), "a", Devices({0})));
  world.Tell(CancelJob{"j"});
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j", 1), "a", Devices({1}))),
                      Code::kFailedPrecondition, {"not wanted any more", "stop it"}));
}

TEST_F(AdoptionTest, ATaskBeyondTheCountIsToBeStopped) {
  world.Node(GpuNode("a", 2));
  UpdateJob update = Rewish("j");
  update.groups = {Resized("main", 1)};
  world.Tell(update);
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j", 1), "a", Devices({1}))),
                      Code::kFailedPrecondition, {"stop it"}));
}

TEST_F(AdoptionTest, ACordonedOrHeldPlaceIsAFactToo) {
  world.Node(GpuNode("a", 1));
  world.Tell(HoldOf("h", "other", "a", WholeGpus(1), Devices({0})));
  world.Tell(CordonNode{"a"});
  world.Tell(Found(Key("j", 0), "a", Devices({0})));
  EXPECT_EQ(world.Task("j").node, "a");
}

}  // namespace
}  // namespace gpusched
