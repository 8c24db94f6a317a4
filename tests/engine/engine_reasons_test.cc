// Why a job waits: never against not now, the numbers, and the account in full.
#include <gtest/gtest.h>

#include <string>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

testing::AssertionResult Says(const WaitReason& why, Reason reason, std::string_view subject,
                              std::int64_t need, std::int64_t have,
                              std::string_view group = "main") {
  if (why.reason == reason && why.subject == subject && why.need == need && why.have == have &&
      why.group == group) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << ReasonName(why.reason) << " of group '" << why.group << "', subject '" << why.subject
         << "', need " << why.need << ", have " << why.have;
}

TEST(Reasons, AClusterWithoutNodesHoldsNothing) {
  TestEngine world;
  world.Submit(Gang("j", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j rejected NoNodes");
  EXPECT_TRUE(Says(world.Why("j"), Reason::kNoNodes, "", 0, 0));
  world.Node(GpuNode("a", 1));
  EXPECT_EQ(world.Cycle(), "j/main/0@a");
}

TEST(Reasons, EachResourceIsNamedWithItsNumbers) {
  TestEngine world;
  NodeSpec node = GpuNode("a", 2, "T4", 4'000);
  node.mem_mib = 100;
  for (DeviceSpec& device : node.devices) device.gpu_mem_mib = 16;
  world.Node(node);
  ShapeSpec memory = ShareOf(100);
  memory.gpu_mem_mib = 20;
  ShapeSpec model = ShareOf(100);
  model.models = {"A30"};
  world.Submit(Gang("cpu", 1, CpuTask(5'000)));
  world.Submit(Gang("memory", 1, CpuTask(1, 200)));
  world.Submit(Gang("whole", 1, WholeGpus(3)));
  world.Submit(Gang("device-memory", 1, memory));
  world.Submit(Gang("model", 1, model));
  EXPECT_EQ(world.Cycle(),
            "cpu rejected InsufficientCpu, memory rejected InsufficientMemory, "
            "whole rejected TooFewWholeDevices, device-memory rejected InsufficientGpuMemory, "
            "model rejected ModelNotAllowed");
  EXPECT_TRUE(Says(world.Why("cpu"), Reason::kInsufficientCpu, "a", 5'000, 4'000));
  EXPECT_TRUE(Says(world.Why("memory"), Reason::kInsufficientMemory, "a", 200, 100));
  EXPECT_TRUE(Says(world.Why("whole"), Reason::kTooFewWholeDevices, "a", 3, 2));
  EXPECT_TRUE(Says(world.Why("device-memory"), Reason::kInsufficientGpuMemory, "a", 20, 16));
  EXPECT_TRUE(Says(world.Why("model"), Reason::kModelNotAllowed, "a", 0, 0));
}

TEST(Reasons, WhatIsInUseIsSomethingToWaitFor) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("busy", 1, ShareOf(700)));
  world.Cycle();
  world.Submit(Gang("j", 1, ShareOf(400)));
  EXPECT_EQ(world.Cycle(), "j waits NoDeviceWithRoom");
  EXPECT_TRUE(Says(world.Why("j"), Reason::kNoDeviceWithRoom, "a", 400, 300));
}

// S-53
TEST(Reasons, NeverIsLookedAtAnewWhenANodeJoinsOrGrows) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(4)));
  EXPECT_EQ(world.Cycle(), "j rejected TooFewWholeDevices");
  EXPECT_TRUE(world.Live("j"));
  UpdateNode update = Change("a");
  update.devices = GpuNode("a", 4).devices;
  world.Tell(update);
  EXPECT_EQ(world.Cycle(), "j/main/0@a");
}

TEST(Reasons, NeverIsLookedAtAnewWhenTheWishChanges) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(4)));
  EXPECT_EQ(world.Cycle(), "j rejected TooFewWholeDevices");
  UpdateJob update = Rewish("j");
  update.groups.resize(1);
  update.groups[0].group = "main";
  update.groups[0].shape = WholeGpus(2);
  world.Tell(update);
  EXPECT_EQ(world.Cycle(), "j/main/0@a");
}

TEST(Reasons, AGangSaysHowManyOfItsTasksFindAPlace) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Node(GpuNode("b", 2));
  world.Submit(Gang("busy", 1, WholeGpus(1)));
  world.Cycle();
  world.Submit(Gang("now", 4, WholeGpus(1)));
  world.Submit(Gang("never", 5, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "now waits GangDoesNotFit, never rejected GangDoesNotFit");
  EXPECT_EQ(world.Why("now").need, 4);
  EXPECT_EQ(world.Why("now").have, 3);
  EXPECT_EQ(world.Why("never").need, 5);
  EXPECT_EQ(world.Why("never").have, 4) << "as many as an empty cluster would hold";
}

TEST(Reasons, AGangThatAsksMoreThanThereIsInAllIsRejected) {
  TestEngine world;
  world.Node(GpuNode("a", 0, "T4", 10'000));
  world.Submit(Job("j", {Group("x", 1, CpuTask(6'000)), Group("y", 1, CpuTask(5'000))}));
  EXPECT_EQ(world.Cycle(), "j rejected GangDoesNotFit");
  EXPECT_EQ(world.Why("j").need, 2);
  EXPECT_EQ(world.Why("j").have, 1);
}

// Two nodes of which one is busy: of the two, the one that could ever hold it is the nearest.
TEST(Reasons, ANodeThatWillNeverDoIsNotTheNearestOne) {
  TestEngine world;
  world.Node(GpuNode("t", 1, "T4"));
  world.Node(GpuNode("a", 1, "A30"));
  ShapeSpec shape = WholeGpus(1);
  shape.models = {"A30"};
  world.Submit(Gang("busy", 1, shape));
  world.Submit(Gang("j", 1, shape));
  EXPECT_EQ(world.Cycle(), "busy/main/0@a, j waits TooFewWholeDevices");
}

TEST(Reasons, TheGroupThatFindsNoPlaceIsNamed) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Job("j", {Group("ps", 1, CpuTask(1)), Group("worker", 1, WholeGpus(2))}));
  world.Cycle();
  EXPECT_TRUE(Says(world.Why("j"), Reason::kTooFewWholeDevices, "a", 2, 1, "worker"));
}

TEST(Reasons, AJobThatCouldNotGetAllWaitsForTheRest) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Service("s", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "s/main/0@a, s waits TooFewWholeDevices");
}

TEST(Reasons, AJobHasOneAnswerAPlan) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  JobSpec job = Job("j", {Group("x", 2, WholeGpus(1)), Group("y", 2, WholeGpus(1))});
  job.groups[0].min_available = 0;
  job.groups[1].min_available = 0;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j/x/0@a, j waits TooFewWholeDevices");
}

// --- Explain ------------------------------------------------------------------------------------

TEST(Explain, OfAJobThatIsPlacedOrAboutToBeSaysThatItDoesNotWait) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  for (int i = 0; i < 2; ++i) {
    const JobAccount account = *world.engine.Explain("j");
    EXPECT_FALSE(account.waits());
    EXPECT_EQ(account.outcome, Outcome::kOk);
    EXPECT_TRUE(account.groups.empty());
    EXPECT_EQ(account.text,
              "job 'j' does not wait: it has what it asks for, or the next plan places it");
    world.Cycle();
  }
}

TEST(Explain, GivesTheReasonOfTheNextPlanAndTheRefusalOfEachGroup) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Node(GpuNode("b", 0));
  world.Submit(Gang("busy", 1, WholeGpus(1)));
  world.Cycle();
  world.Submit(Gang("j", 2, WholeGpus(1)));
  const std::uint64_t hash = world.hash();
  const std::uint64_t version = world.engine.version();
  const JobAccount account = *world.engine.Explain("j");
  EXPECT_EQ(world.hash(), hash);
  EXPECT_EQ(world.engine.version(), version);
  EXPECT_EQ(account.job, "j");
  EXPECT_EQ(account.outcome, Outcome::kWait);
  EXPECT_EQ(account.why, world.Why("j"));
  ASSERT_EQ(account.groups.size(), 1U);
  EXPECT_EQ(account.groups[0].group, "main");
  EXPECT_EQ(account.groups[0].need, 2);
  EXPECT_EQ(account.groups[0].placed, 1);
  EXPECT_EQ(account.groups[0].refusal.count(Reason::kTooFewWholeDevices), 1U);
  EXPECT_EQ(account.groups[0].refusal.count(Reason::kModelNotAllowed), 1U);
  EXPECT_EQ(account.text,
            "job 'j' waits: GangDoesNotFit: 1 of 2 tasks that must start together find a place "
            "(group 'main', nearest node 'a')\n"
            "  group 'main': 1 of 2 placed, then 0 of 2 nodes take it: 1 ModelNotAllowed, 1 "
            "TooFewWholeDevices; nearest is 'a': 1 whole device asked, 0 free");
}

TEST(Explain, AccountsForEachAlternative) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  JobSpec job = Gang("j", 1, WholeGpus(4));
  job.alternatives = {{Group("main", 1, WholeGpus(2))}};
  world.Submit(job);
  const JobAccount account = *world.engine.Explain("j");
  ASSERT_EQ(account.groups.size(), 2U);
  EXPECT_EQ(account.groups[0].alternative, 0);
  EXPECT_EQ(account.groups[1].alternative, 1);
  EXPECT_NE(account.text.find("group 'main' of alternative 1: 0 of 1 placed"), std::string::npos)
      << account.text;
}

TEST(Explain, SeesWhatOlderJobsWillTake) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("first", 1, WholeGpus(1)));
  world.Submit(Gang("second", 1, WholeGpus(1)));
  EXPECT_FALSE(world.engine.Explain("first")->waits());
  const JobAccount account = *world.engine.Explain("second");
  EXPECT_EQ(account.why.reason, Reason::kTooFewWholeDevices);
  EXPECT_EQ(account.why.have, 0);
}

TEST(Explain, AReasonThatIsNotAboutRoomHasNoGroups) {
  TestEngine world;
  JobSpec job = Gang("j", 1, CpuTask(1));
  job.co_schedule = CoSchedule{.group = "pair", .size = 3};
  world.Submit(job);
  const JobAccount account = *world.engine.Explain("j");
  EXPECT_TRUE(account.groups.empty());
  EXPECT_EQ(account.text,
            "job 'j' waits: JobGroupIncomplete: 1 of 3 jobs that start together are there "
            "('pair')");
}

TEST(Explain, NamesTheOtherJobThatFindsNoPlace) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  for (const char* name : {"p", "q"}) {
    JobSpec job = Gang(name, 1, WholeGpus(1));
    job.co_schedule = CoSchedule{.group = "pair", .size = 2};
    world.Submit(job);
  }
  const JobAccount account = *world.engine.Explain("p");
  EXPECT_NE(account.text.find("job 'q', group 'main'"), std::string::npos) << account.text;
}

// The second of two equal shapes is answered from memory; its account must not be poorer.
TEST(Explain, IsAsFullForTheSecondJobOfAShape) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("busy", 1, WholeGpus(1)));
  world.Cycle();
  world.Submit(Gang("first", 1, WholeGpus(1)));
  world.Submit(Gang("second", 1, WholeGpus(1)));
  const JobAccount first = *world.engine.Explain("first");
  const JobAccount second = *world.engine.Explain("second");
  ASSERT_EQ(first.groups.size(), 1U);
  ASSERT_EQ(second.groups.size(), 1U);
  EXPECT_EQ(second.groups[0].text, first.groups[0].text);
  EXPECT_EQ(second.why, first.why);
}

}  // namespace
}  // namespace gpusched
