// What each event about a job does, and what is refused.
#include <gtest/gtest.h>

#include <cstdint>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TEST(SubmitJobEvent, RefusesALiveNameAndABadSpec) {
  TestEngine world;
  world.Submit(Gang("j", 1, CpuTask(1)));
  EXPECT_TRUE(
      Refused(world.Refusal(SubmitJob{Gang("j", 2, CpuTask(1))}), Code::kAlreadyExists, {"'j'"}));
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{Gang("k", -1, CpuTask(1))}), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{Gang("k", 1, CpuTask(-1))}), Code::kInvalidArgument,
                      {"cpu_milli"}));
}

TEST(SubmitJobEvent, AnOlderTimeIsKeptAndALaterOneRefused) {
  TestEngine world;
  world.Tell(Tick{100});
  JobSpec job = Gang("j", 1, CpuTask(1));
  job.submit_time = 101;
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{job}), Code::kInvalidArgument, {"submit_time"}));
  job.submit_time = 40;
  world.Submit(job);
  EXPECT_EQ(world.engine.Job("j")->submit_time, 40);
  world.Submit(Gang("k", 1, CpuTask(1)));
  EXPECT_EQ(world.engine.Job("k")->submit_time, 100);
}

TEST(SubmitJobEvent, ABatchJobWithoutTasksIsFinishedAtOnce) {
  TestEngine world;
  const Effect effect = world.Tell(SubmitJob{Gang("j", 0, CpuTask(1))});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].job, "j");
  EXPECT_EQ(effect.ended[0].how, JobEnd::kFinished);
  EXPECT_FALSE(world.Live("j"));
  world.Submit(Service("s", 0, CpuTask(1)));
  EXPECT_TRUE(world.Live("s")) << "a service stays";
}

TEST(UpdateJobEvent, SaysWhatItRefuses) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 2, WholeGpus(1)));
  EXPECT_TRUE(Refused(world.Refusal(Rewish("k")), Code::kNotFound, {"job", "'k'"}));
  UpdateJob update = Rewish("j");
  update.groups = {Resized("other", 1)};
  EXPECT_TRUE(Refused(world.Refusal(update), Code::kNotFound, {"group", "'other'"}));
  update.groups = {Resized("main", 1)};
  update.groups[0].min_available = 2;
  EXPECT_TRUE(Refused(world.Refusal(update), Code::kInvalidArgument, {"min_available"}));
  world.Cycle();
  update = Rewish("j");
  update.groups.resize(1);
  update.groups[0].group = "main";
  update.groups[0].shape = WholeGpus(2);
  EXPECT_TRUE(
      Refused(world.Refusal(update), Code::kFailedPrecondition, {"'main'", "in use by 2 tasks"}));
  EXPECT_NE(world.Ignored(Rewish("j")).find("'j'"), std::string::npos);
}

// Each group alone is valid; together they ask more than a number can say.
TEST(UpdateJobEvent, TotalsOverAllGroupsAreChecked) {
  TestEngine world;
  world.Submit(
      Job("j", {Group("x", 1 << 18, CpuTask(std::int64_t{1} << 40)), Group("y", 1, CpuTask(1))}));
  UpdateJob update = Rewish("j");
  update.groups = {Resized("x", 1 << 19), Resized("y", (1 << 19) + 1)};
  EXPECT_TRUE(Refused(world.Refusal(update), Code::kInvalidArgument));
}

TEST(UpdateJobEvent, APriorityCountsFromTheNextPlanOn) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Submit(Gang("k", 1, WholeGpus(1)));
  UpdateJob update = Rewish("k");
  update.priority = 1;
  update.queue = "fast";
  world.Tell(update);
  EXPECT_EQ(world.engine.Job("k")->queue, "fast");
  EXPECT_EQ(world.Cycle(), "k/main/0@a, j waits TooFewWholeDevices");
}

TEST(UpdateJobEvent, MoreTasksArePlacedBesideThoseThatRun) {
  TestEngine world;
  world.Node(GpuNode("a", 3));
  world.Submit(Service("s", 1, WholeGpus(1)));
  world.Cycle();
  UpdateJob update = Rewish("s");
  update.groups = {Resized("main", 3)};
  world.Tell(update);
  EXPECT_EQ(world.Cycle(), "s/main/1@a, s/main/2@a");
}

TEST(UpdateJobEvent, FewerTasksArePendingOnesNowAndPlacedOnesWithTheNextPlan) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Service("s", 4, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "s/main/0@a, s/main/1@a, s waits TooFewWholeDevices");
  UpdateJob update = Rewish("s");
  update.groups = {Resized("main", 1)};
  world.Tell(update);
  EXPECT_EQ(world.engine.Job("s")->tasks.size(), 2U) << "the placed surplus is still listed";
  EXPECT_EQ(world.Cycle(), "-s/main/1 ScaledDown");
  EXPECT_EQ(world.Task("s", 1).phase, TaskPhase::kEvicting);
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 0U) << "it holds what it has";
  world.Tell(TaskEvicted{Key("s", 1)});
  EXPECT_EQ(world.engine.Job("s")->tasks.size(), 1U);
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
}

TEST(UpdateJobEvent, ATaskThatIsWantedAgainHasANewAttempt) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Service("s", 2, WholeGpus(1)));
  world.Cycle();
  UpdateJob update = Rewish("s");
  update.groups = {Resized("main", 1)};
  world.Tell(update);
  world.Cycle();
  world.Tell(TaskEvicted{Key("s", 1)});
  update.groups = {Resized("main", 2)};
  world.Tell(update);
  EXPECT_EQ(world.Cycle(), "s/main/1#2@a");
}

TEST(UpdateJobEvent, AMinimumIsAtMostTheCountUnlessItIsGivenAnew) {
  TestEngine world;
  JobSpec job = Gang("j", 4, CpuTask(1));
  job.groups[0].min_available = 3;
  world.Submit(job);
  UpdateJob update = Rewish("j");
  update.groups = {Resized("main", 2)};
  world.Tell(update);
  EXPECT_EQ(world.engine.state().jobs()[0].groups[0].min_available, 2);
  update.groups = {Resized("main", 6)};
  world.Tell(update);
  EXPECT_EQ(world.engine.state().jobs()[0].groups[0].min_available, 2);
  world.Submit(Gang("k", 2, CpuTask(1)));
  update = Rewish("k");
  update.groups = {Resized("main", 3)};
  world.Tell(update);
  EXPECT_EQ(world.engine.state().jobs()[1].groups[0].min_available, 3) << "never given: the count";
}

TEST(UpdateJobEvent, AJobWhoseTasksHaveAllFinishedByItIsFinished) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Loose("j", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskFinished{Key("j", 0)});
  UpdateJob update = Rewish("j");
  update.groups = {Resized("main", 1)};
  const Effect effect = world.Tell(update);
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kFinished);
}

TEST(CancelJobEvent, AJobThatHoldsNothingIsGoneAtOnce) {
  TestEngine world;
  world.Submit(Gang("j", 2, CpuTask(1)));
  const Effect effect = world.Tell(CancelJob{"j"});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kCancelled);
  EXPECT_FALSE(world.Live("j"));
  EXPECT_EQ(world.Ignored(CancelJob{"j"}), "no job 'j' is here (any more)");
}

TEST(CancelJobEvent, WhatIsPlacedIsEvictedAndThenTheJobIsGone) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Loose("j", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j waits TooFewWholeDevices");
  world.StartAll();
  world.Tell(CancelJob{"j"});
  EXPECT_NE(world.Ignored(CancelJob{"j"}), "");
  EXPECT_EQ(world.engine.Job("j")->ending, EvictCause::kCancelled);
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{Gang("j", 1, CpuTask(1))}), Code::kAlreadyExists));
  EXPECT_EQ(world.Cycle(), "-j/main/0 Cancelled") << "and it waits for nothing";
  EXPECT_EQ(world.Cycle(), "") << "it is evicted once";
  const Effect effect = world.Tell(TaskEvicted{Key("j", 0)});
  ASSERT_EQ(effect.ended.size(), 1U);
  EXPECT_EQ(effect.ended[0].how, JobEnd::kCancelled);
  world.Submit(Gang("j", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j/main/0@a");
}

// The header of Effect: `requeued` are tasks that wait again.
TEST(CancelJobEvent, ATaskThatIsGoneDoesNotWaitAgain) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.Tell(CancelJob{"j"});
  world.Cycle();
  EXPECT_EQ(Requeued(world.Tell(TaskEvicted{Key("j", 0)})), "");
}

}  // namespace
}  // namespace gpusched
