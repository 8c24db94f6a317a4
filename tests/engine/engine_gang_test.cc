// Gangs: all or nothing, repaired, released; jobs that start together.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine_fixture.h"
#include "gpusched/policy/score/worst_fit.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TEST(Gang, IsPlacedWholeOrNotAtAll) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 3, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j rejected GangDoesNotFit");
  EXPECT_EQ(world.engine.state().tasks().size(), 0U);
  world.Node(GpuNode("b", 1));
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@a, j/main/2@b");
}

// Each of them takes half, and both wait for ever: not here. (S-45)
TEST(Gang, TwoThatEachNeedEverythingComeOneAfterTheOther) {
  TestEngine world;
  for (const char* name : {"a", "b", "c", "d"}) world.Node(GpuNode(name, 1));
  world.Submit(Gang("g", 4, WholeGpus(1)));
  world.Submit(Gang("h", 4, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(),
            "g/main/0@a, g/main/1@b, g/main/2@c, g/main/3@d, h waits TooFewWholeDevices");
  for (std::int64_t i = 0; i < 4; ++i) world.Tell(TaskFinished{Key("g", i)});
  EXPECT_EQ(world.Cycle(), "h/main/0@a, h/main/1@b, h/main/2@c, h/main/3@d");
}

TEST(Gang, ItsMinimumIsPlacedTogetherAndTheRestOneByOne) {
  TestEngine world;
  world.Node(GpuNode("a", 3));
  JobSpec job = Gang("j", 4, WholeGpus(1));
  job.groups[0].min_available = 2;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@a, j/main/2@a, j waits TooFewWholeDevices");
  world.Node(GpuNode("b", 1));
  EXPECT_EQ(world.Cycle(), "j/main/3@b");
}

TEST(Gang, TheMinimumOfEachGroupIsPlacedTogether) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Job("j", {Group("ps", 1, CpuTask(1)), Group("worker", 2, WholeGpus(1))}));
  EXPECT_EQ(world.Cycle(), "j rejected GangDoesNotFit");
  world.Node(GpuNode("b", 1));
  world.Cycle();
  EXPECT_EQ(world.Task("j", 0, "ps").node, "a");
  EXPECT_EQ(world.Task("j", 0, "worker").node, "a");
  EXPECT_EQ(world.Task("j", 1, "worker").node, "b");
}

TEST(Gang, RanksFollowNodeOrderAndCountOnFromGroupToGroup) {
  EnginePolicies policies;
  policies.placer = PlacerOf(WorstFit{});
  TestEngine world({}, std::move(policies));
  world.Node(GpuNode("a", 2));
  world.Node(GpuNode("b", 2));
  world.Submit(Job("j", {Group("x", 1, CpuTask(1)), Group("y", 4, WholeGpus(1))}));
  world.Cycle();
  std::vector<std::string> by_rank(5);
  for (const Step& step : world.plan.steps()) {
    const auto& place = std::get<Place>(step);
    by_rank.at(static_cast<std::size_t>(place.rank)) = TaskName(place.task) + "@" + place.node;
  }
  EXPECT_EQ(by_rank[1], "j/y/0@a");
  EXPECT_EQ(by_rank[2], "j/y/1@a");
  EXPECT_EQ(by_rank[3], "j/y/2@b");
  EXPECT_EQ(by_rank[4], "j/y/3@b");
  EXPECT_EQ(by_rank[0].substr(0, 5), "j/x/0");
}

// --- repair -------------------------------------------------------------------------------------

// A gang of two that runs on `a` and `b`, one device each.
class RepairTest : public testing::Test {
 protected:
  RepairTest() {
    world.Node(GpuNode("a", 1));
    world.Node(GpuNode("b", 1));
    world.Tell(Tick{1'000});
    world.Submit(Gang("g", 2, WholeGpus(1)));
    world.Cycle();
    world.StartAll();
  }

  TestEngine world{EngineSettings{.start_timeout = 10'000, .repair_timeout = 500}};
};

TEST_F(RepairTest, ALostMemberIsReplacedBeforeNewAndOlderWorkOfEqualPriority) {
  JobSpec older = Gang("older", 1, WholeGpus(1));
  older.submit_time = 0;
  world.Submit(older);
  world.Tell(TaskFailed{Key("g", 1)});
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, 1'500);
  EXPECT_EQ(world.Cycle(), "g/main/1#2@b, older waits TooFewWholeDevices");
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, kNoDeadline);
}

TEST_F(RepairTest, ButNotBeforeWorkOfHigherPriority) {
  JobSpec urgent = Gang("urgent", 1, WholeGpus(1));
  urgent.priority = 1;
  world.Submit(urgent);
  world.Tell(TaskFailed{Key("g", 1)});
  EXPECT_EQ(world.Cycle(), "urgent/main/0@b, g waits TooFewWholeDevices");
}

TEST_F(RepairTest, TheDeadlineCountsFromTheFirstLoss) {
  world.Tell(TaskFailed{Key("g", 1)});
  world.Tell(CordonNode{"b"});
  world.Tell(Tick{1'400});
  EXPECT_EQ(world.Cycle(), "g waits TooFewWholeDevices");
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, 1'500);
}

TEST_F(RepairTest, WhatCanNotBeRepairedInTimeIsReleasedAndPlacedAnew) {
  world.Tell(RemoveNode{"b"});
  EXPECT_EQ(world.Cycle(1'499), "g waits TooFewWholeDevices");
  EXPECT_EQ(world.Cycle(1'500), "-g/main/0 GangNotWhole, g waits BeingReleased");
  EXPECT_EQ(world.Cycle(1'600), "g waits BeingReleased");
  EXPECT_EQ(Requeued(world.Tell(TaskEvicted{Key("g", 0)})), "g/main/0#1");
  EXPECT_EQ(world.Cycle(), "g rejected GangDoesNotFit");
  world.Node(GpuNode("b", 1));
  EXPECT_EQ(world.Cycle(), "g/main/0#2@a, g/main/1#2@b");
}

TEST_F(RepairTest, AGangThatIsBeingReleasedIsNotRepairedEvenIfThereIsRoom) {
  world.Tell(RemoveNode{"b"});
  world.Cycle(1'500);
  world.Node(GpuNode("b", 1));
  EXPECT_EQ(world.Cycle(), "g waits BeingReleased");
}

TEST_F(RepairTest, WhenAllIsLostItWaitsLikeNewWork) {
  world.Tell(RemoveNode{"a"});
  world.Tell(RemoveNode{"b"});
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, kNoDeadline);
  world.Node(GpuNode("c", 2));
  EXPECT_EQ(world.Cycle(), "g/main/0#2@c, g/main/1#2@c");
}

TEST_F(RepairTest, AMemberThatFinishedIsPresent) {
  world.Tell(TaskFinished{Key("g", 1)});
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, kNoDeadline);
  EXPECT_EQ(world.Cycle(), "");
}

TEST_F(RepairTest, AServiceAboveItsMinimumIsWhole) {
  world.Node(GpuNode("c", 2));
  world.Submit(Service("s", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskFailed{Key("s", 0)});
  EXPECT_EQ(world.engine.Job("s")->repair_deadline, kNoDeadline);
}

TEST_F(RepairTest, ALargerMinimumPutsTheGangInRepair) {
  UpdateJob update = Rewish("g");
  update.groups = {Resized("main", 3)};
  world.Tell(update);
  EXPECT_EQ(world.engine.Job("g")->repair_deadline, 1'500);
  world.Node(GpuNode("c", 1));
  EXPECT_EQ(world.Cycle(), "g/main/2@c");
}

// --- jobs that start together -------------------------------------------------------------------

JobSpec Together(std::string name, std::int64_t size = 2, const std::string& group = "pair") {
  JobSpec job = Gang(std::move(name), 1, WholeGpus(1));
  job.co_schedule = CoSchedule{.group = group, .size = size};
  return job;
}

TEST(CoSchedule, WaitsUntilAllOfThemAreThere) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Together("p"));
  EXPECT_EQ(world.Cycle(), "p waits JobGroupIncomplete");
  const WaitReason why = world.Why("p");
  EXPECT_EQ(why.subject, "pair");
  EXPECT_EQ(why.need, 2);
  EXPECT_EQ(why.have, 1);
  world.Submit(Together("q"));
  EXPECT_EQ(world.Cycle(), "p/main/0@a, q/main/0@a");
}

TEST(CoSchedule, ThereIsRoomForAllOfThemOrForNone) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Together("p"));
  world.Submit(Together("q"));
  world.Submit(Gang("other", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "p rejected GangDoesNotFit, q rejected GangDoesNotFit, other/main/0@a");
  world.Node(GpuNode("b", 2));
  EXPECT_EQ(world.Cycle(), "p/main/0@b, q/main/0@b");
}

TEST(CoSchedule, AfterTheStartEachIsOnItsOwn) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Together("p"));
  world.Submit(Together("q"));
  world.Cycle();
  world.Tell(TaskFinished{Key("q")});
  world.Tell(TaskFailed{Key("p")});
  EXPECT_EQ(world.Cycle(), "p/main/0#2@a");
}

TEST(CoSchedule, ACancelledOneIsMissed) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Together("p"));
  world.Submit(Together("q"));
  world.Tell(CancelJob{"q"});
  EXPECT_EQ(world.Cycle(), "p waits JobGroupIncomplete");
  world.Submit(Together("r"));
  world.Node(GpuNode("b", 1));
  EXPECT_EQ(world.Cycle(), "p/main/0@a, r/main/0@b");
}

TEST(CoSchedule, TheyMustAgreeAndBeNoMoreThanTheySay) {
  TestEngine world;
  world.Submit(Together("p"));
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{Together("q", 3)}), Code::kInvalidArgument,
                      {"co_schedule.size", "'p'", "2"}));
  world.Submit(Together("q"));
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{Together("r")}), Code::kInvalidArgument,
                      {"co_schedule.group", "'pair'"}));
  world.Submit(Together("r", 3, "other"));
}

}  // namespace
}  // namespace gpusched
