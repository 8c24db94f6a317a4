// strict_fifo: a job that waits for room keeps younger ones off its models, and off nothing else.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

ShapeSpec WholeOf(std::vector<std::string> models, std::int64_t count = 1) {
  ShapeSpec shape = WholeGpus(count);
  shape.models = std::move(models);
  return shape;
}

// Two T4s and two A30s; one A30 is in use.
class StrictFifo : public testing::Test {
 protected:
  StrictFifo() {
    world.Node(GpuNode("a", 2, "A30"));
    world.Node(GpuNode("t", 2, "T4"));
    world.Submit(Gang("busy", 1, WholeOf({"A30"})));
    world.Cycle();
  }

  TestEngine world{EngineSettings{.strict_fifo = true}};
};

TEST(Fifo, WithoutItAYoungerJobThatFitsPasses) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("busy", 1, WholeGpus(1)));
  world.Submit(Gang("large", 2, WholeGpus(1)));
  world.Submit(Gang("small", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "busy/main/0@a, large waits GangDoesNotFit, small/main/0@a");
}

TEST_F(StrictFifo, AYoungerJobWaitsBehindAnOlderOneForTheSameModel) {
  world.Submit(Gang("head", 2, WholeOf({"A30"})));
  world.Submit(Gang("young", 1, WholeOf({"A30"})));
  EXPECT_EQ(world.Cycle(), "head waits GangDoesNotFit, young waits BehindInPool");
  EXPECT_EQ(world.Why("young").subject, "head");
  world.Tell(TaskFinished{Key("busy")});
  EXPECT_EQ(world.Cycle(), "head/main/0@a, head/main/1@a, young waits TooFewWholeDevices");
}

TEST_F(StrictFifo, AJobThatWaitsForOneModelDoesNotBlockAnother) {
  world.Submit(Gang("head", 2, WholeOf({"A30"})));
  world.Submit(Gang("young", 1, WholeOf({"T4"})));
  EXPECT_EQ(world.Cycle(), "head waits GangDoesNotFit, young/main/0@t");
}

TEST_F(StrictFifo, OfSeveralModelsAYoungerJobIsOfferedWhatIsLeft) {
  world.Submit(Gang("head", 2, WholeOf({"A30"})));
  world.Submit(Gang("young", 1, WholeOf({"A30", "T4"})));
  world.Submit(Gang("any", 1, WholeGpus(1)));
  world.Submit(Gang("last", 1, WholeOf({"A30", "T4"})));
  EXPECT_EQ(world.Cycle(),
            "head waits GangDoesNotFit, young/main/0@t, any/main/0@t, "
            "last waits TooFewWholeDevices");
}

// It would fit on A30s when empty, so it must not be called impossible for lack of T4s.
TEST_F(StrictFifo, WhatFitsOnlyOnBlockedModelsIsNotRejected) {
  world.Node(GpuNode("a2", 4, "A30"));
  world.Submit(Gang("fill", 1, WholeOf({"A30"}, 4)));
  world.Cycle();
  world.Submit(Gang("head", 1, WholeOf({"A30"}, 4)));
  world.Submit(Gang("young", 1, WholeOf({"A30", "T4"}, 4)));
  EXPECT_EQ(world.Cycle(), "head waits TooFewWholeDevices, young waits BehindInPool");
}

TEST_F(StrictFifo, AJobThatTakesAnyModelBlocksThemAll) {
  world.Submit(Gang("head", 4, WholeGpus(1)));
  world.Submit(Gang("young", 1, WholeOf({"T4"})));
  EXPECT_EQ(world.Cycle(), "head waits GangDoesNotFit, young waits BehindInPool");
}

TEST_F(StrictFifo, TasksWithoutGpuAreAPoolOfTheirOwn) {
  world.Submit(Gang("fill", 1, CpuTask(96'000)));
  world.Cycle();
  world.Submit(Gang("head", 2, CpuTask(90'000)));
  world.Submit(Gang("young", 1, CpuTask(1)));
  world.Submit(Gang("gpu", 1, WholeOf({"T4"})));
  const std::string story = world.Cycle();
  EXPECT_NE(story.find("head waits GangDoesNotFit"), std::string::npos) << story;
  EXPECT_NE(story.find("young waits BehindInPool"), std::string::npos) << story;
  EXPECT_NE(story.find("gpu/main/0@t"), std::string::npos) << story;
}

TEST_F(StrictFifo, AJobOfBothKindsBlocksBoth) {
  world.Submit(Job("head", {Group("cpu", 1, CpuTask(1)), Group("gpu", 2, WholeOf({"A30"}))}));
  world.Submit(Gang("cpu", 1, CpuTask(1)));
  world.Submit(Gang("gpu", 1, WholeOf({"A30"})));
  world.Submit(Gang("other", 1, WholeOf({"T4"})));
  EXPECT_EQ(world.Cycle(),
            "head waits GangDoesNotFit, cpu waits BehindInPool, gpu waits BehindInPool, "
            "other/main/0@t");
}

TEST_F(StrictFifo, TheModelsOfAllAlternativesAreBlocked) {
  JobSpec head = Gang("head", 2, WholeOf({"A30"}));
  head.alternatives = {{Group("main", 2, WholeOf({"T4"}))}};
  world.Submit(Gang("half", 1, WholeOf({"T4"})));
  world.Submit(head);
  world.Submit(Gang("young", 1, WholeOf({"T4"})));
  EXPECT_EQ(world.Cycle(), "half/main/0@t, head waits GangDoesNotFit, young waits BehindInPool");
}

TEST_F(StrictFifo, WhatIsRejectedBlocksNobody) {
  world.Submit(Gang("head", 3, WholeOf({"A30"})));
  world.Submit(Gang("young", 1, WholeOf({"A30"})));
  EXPECT_EQ(world.Cycle(), "head rejected GangDoesNotFit, young/main/0@a");
}

TEST_F(StrictFifo, WhoWaitsForSomebodyBlocksNobody) {
  JobSpec head = Gang("head", 2, WholeOf({"A30"}));
  head.co_schedule = CoSchedule{.group = "pair", .size = 2};
  world.Submit(head);
  world.Submit(Gang("young", 1, WholeOf({"A30"})));
  EXPECT_EQ(world.Cycle(), "head waits JobGroupIncomplete, young/main/0@a");
}

TEST_F(StrictFifo, WhoIsBehindSomebodyBlocksNobody) {
  world.Submit(Gang("head", 2, WholeOf({"A30"})));
  world.Submit(Gang("second", 1, WholeOf({"A30"})));
  world.Submit(Gang("third", 1, WholeOf({"T4"})));
  EXPECT_EQ(world.Cycle(), "head waits GangDoesNotFit, second waits BehindInPool, third/main/0@t");
}

TEST_F(StrictFifo, AJobThatHasItsMinimumAndWantsMoreBlocksNobody) {
  world.Node(GpuNode("k", 3, "K80"));
  world.Submit(Service("grows", 2, WholeOf({"K80"}, 2)));
  world.Submit(Gang("young", 1, WholeOf({"K80"})));
  EXPECT_EQ(world.Cycle(), "grows/main/0@k, grows waits TooFewWholeDevices, young/main/0@k");
}

TEST_F(StrictFifo, APriorityGoesPastTheHead) {
  world.Submit(Gang("head", 2, WholeOf({"A30"})));
  JobSpec urgent = Gang("urgent", 1, WholeOf({"A30"}));
  urgent.priority = 1;
  world.Submit(urgent);
  EXPECT_EQ(world.Cycle(), "urgent/main/0@a, head waits TooFewWholeDevices");
}

}  // namespace
}  // namespace gpusched
