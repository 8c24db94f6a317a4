// Where a job may go beyond what fits: alternatives, one GPU model.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "engine/engine_fixture.h"
#include "gpusched/base/rng.h"
#include "gpusched/state/fit.h"

namespace gpusched {
namespace {

ShapeSpec WholeOf(const std::string& model, std::int64_t count = 1) {
  ShapeSpec shape = WholeGpus(count);
  shape.models = {model};
  return shape;
}

// --- alternatives -------------------------------------------------------------------------------

// 8 x A30, else 16 x T4.
JobSpec EightOrSixteen(std::string name = "j") {
  JobSpec job = Gang(std::move(name), 8, WholeOf("A30"));
  job.alternatives = {{Group("main", 16, WholeOf("T4"))}};
  return job;
}

std::string Nodes(const Plan& plan) {
  std::string nodes;
  for (const Step& step : plan.steps()) {
    if (const auto* place = std::get_if<Place>(&step)) nodes += place->node;
  }
  return nodes;
}

TEST(Alternatives, TheFirstThatFitsIsTaken) {
  TestEngine world;
  world.Node(GpuNode("t", 16, "T4"));
  world.Node(GpuNode("a", 8, "A30"));
  world.Submit(EightOrSixteen());
  world.Cycle();
  EXPECT_EQ(Nodes(world.plan), "aaaaaaaa");
  EXPECT_EQ(world.engine.Job("j")->alternative, 0);
}

TEST(Alternatives, AnotherIsTakenIfTheFirstDoesNotFitNow) {
  TestEngine world;
  world.Node(GpuNode("t", 16, "T4"));
  world.Node(GpuNode("a", 8, "A30"));
  world.Submit(Gang("k", 1, WholeOf("A30")));
  world.Submit(EightOrSixteen());
  EXPECT_EQ(world.Cycle().substr(0, 27), "k/main/0@a, j/main/0@t!1, j");
  EXPECT_EQ(Nodes(world.plan), "atttttttttttttttt");
  EXPECT_EQ(world.engine.Job("j")->alternative, 1);
  EXPECT_EQ(world.engine.Job("j")->tasks.size(), 16U);
}

TEST(Alternatives, OncePlacedTheJobStaysWithIt) {
  TestEngine world;
  world.Node(GpuNode("t", 16, "T4"));
  world.Submit(EightOrSixteen());
  world.Cycle();
  world.Node(GpuNode("a", 8, "A30"));
  world.Tell(TaskFailed{Key("j", 3)});
  EXPECT_EQ(world.Cycle(), "j/main/3#2@t!1");
}

TEST(Alternatives, WhenNothingIsPlacedAnyMoreAllAreOpenAgain) {
  TestEngine world;
  world.Node(GpuNode("t", 16, "T4"));
  world.Submit(EightOrSixteen());
  world.Cycle();
  world.Tell(RemoveNode{"t"});
  world.Node(GpuNode("a", 8, "A30"));
  world.Cycle();
  EXPECT_EQ(Nodes(world.plan), "aaaaaaaa");
  EXPECT_EQ(world.engine.Job("j")->alternative, 0);
}

// News of an attempt under one alternative must not be taken for that of a task of another.
TEST(Alternatives, AttemptsAreNotUsedTwice) {
  TestEngine world;
  world.Node(GpuNode("t", 16, "T4"));
  world.Submit(EightOrSixteen());
  std::set<std::int64_t> attempts;
  for (const char* other : {"a", "t", "a", "t"}) {
    world.Cycle();
    EXPECT_TRUE(attempts.insert(world.Task("j", 0).task.attempt).second);
    world.Tell(RemoveNode{world.Task("j", 0).node});
    world.Node(other[0] == 'a' ? GpuNode("a", 8, "A30") : GpuNode("t", 16, "T4"));
  }
  EXPECT_NE(world.Ignored(TaskFinished{Key("j", 0, 1)}), "");
  EXPECT_NE(world.Ignored(TaskFinished{Key("j", 0, 2)}), "");
}

TEST(Alternatives, ItWaitsForTheOneThatMayFitLater) {
  TestEngine world;
  world.Node(GpuNode("t", 16, "T4"));
  world.Submit(Gang("k", 1, WholeOf("T4")));
  world.Submit(EightOrSixteen());
  world.Cycle();
  EXPECT_EQ(Story(world.Decide()), "j waits GangDoesNotFit") << "A30s are not there at all";
  EXPECT_EQ(world.Why("j").need, 16);
  EXPECT_EQ(world.Why("j").have, 15);
}

TEST(Alternatives, ItIsRejectedIfNoneWillEverFit) {
  TestEngine world;
  world.Node(GpuNode("t", 15, "T4"));
  world.Submit(EightOrSixteen());
  EXPECT_EQ(world.Cycle(), "j rejected ModelNotAllowed") << "for the reason of the first";
}

// --- one model ----------------------------------------------------------------------------------

JobSpec Homogeneous(std::int64_t count, std::string name = "j") {
  JobSpec job = Gang(std::move(name), count, WholeGpus(1));
  job.homogeneous = true;
  return job;
}

TEST(Homogeneous, AllTasksGoToOneModelEvenIfTheBestNodeCanNotHoldThem) {
  TestEngine world;
  world.Node(GpuNode("t", 2, "T4"));
  world.Node(GpuNode("a", 4, "A30"));
  world.Submit(Homogeneous(3));
  world.Cycle();
  EXPECT_EQ(Nodes(world.plan), "aaa");
  TestEngine mixed;
  mixed.Node(GpuNode("t", 2, "T4"));
  mixed.Node(GpuNode("a", 4, "A30"));
  mixed.Submit(Gang("j", 3, WholeGpus(1)));
  mixed.Cycle();
  EXPECT_EQ(Nodes(mixed.plan), "tta") << "else the test says nothing";
}

TEST(Homogeneous, TheModelOfTheBestPlaceIsTriedFirst) {
  TestEngine world;
  world.Node(GpuNode("a", 4, "A30"));
  world.Node(GpuNode("t", 3, "T4"));
  world.Submit(Homogeneous(2));
  world.Cycle();
  EXPECT_EQ(Nodes(world.plan), "tt") << "best fit takes the smaller node, though A30 < T4";
}

TEST(Homogeneous, WaitsIfNoModelHasEnough) {
  TestEngine world;
  world.Node(GpuNode("t", 2, "T4"));
  world.Node(GpuNode("a", 2, "A30"));
  world.Submit(Homogeneous(3));
  EXPECT_EQ(world.Cycle(), "j rejected GangDoesNotFit");
  world.Node(GpuNode("t2", 1, "T4"));
  world.Cycle();
  EXPECT_EQ(Nodes(world.plan), "ttt2");
}

TEST(Homogeneous, WhatIsPlacedLaterIsOfTheSameModel) {
  TestEngine world;
  world.Node(GpuNode("t", 2, "T4"));
  world.Node(GpuNode("a", 4, "A30"));
  JobSpec job = Homogeneous(3);
  job.groups[0].min_available = 1;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j/main/0@t, j/main/1@t, j waits TooFewWholeDevices");
  world.Node(GpuNode("t2", 1, "T4"));
  EXPECT_EQ(world.Cycle(), "j/main/2@t2");
}

TEST(Homogeneous, HoldsForAllGroupsAndNotForTasksWithoutGpu) {
  TestEngine world;
  world.Node(GpuNode("cpu", 0));
  world.Node(GpuNode("t", 2, "T4"));
  world.Node(GpuNode("a", 3, "A30"));
  JobSpec job = Job(
      "j", {Group("x", 2, WholeGpus(1)), Group("y", 1, WholeGpus(1)), Group("z", 1, CpuTask(1))});
  job.homogeneous = true;
  world.Submit(job);
  world.Cycle();
  EXPECT_EQ(Nodes(world.plan).substr(0, 3), "aaa");
}

TEST(Homogeneous, ADeviceOfAnotherModelOnTheSameNodeIsNotTaken) {
  TestEngine world;
  NodeSpec mixed = GpuNode("m", 3, "T4");
  mixed.devices[1].model = "A30";
  world.Node(mixed);
  world.Submit(Homogeneous(2));
  world.Cycle();
  EXPECT_EQ(world.Task("j", 0).devices, Devices({0}));
  EXPECT_EQ(world.Task("j", 1).devices, Devices({2}));
}

// --- nothing is left lying about ----------------------------------------------------------------

// Refusals are remembered within a cycle; a task that fits must be placed all the same.
TEST(Placing, NoTaskThatFitsIsLeftWaiting) {
  int waiting = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    TestEngine world;
    for (int i = 0; i < 4; ++i) {
      world.Node(GpuNode("n" + std::to_string(i), static_cast<int>(rng.Below(4)),
                         rng.Below(2) == 0 ? "T4" : "A30", 8'000));
    }
    const std::array<ShapeSpec, 5> shapes = {ShareOf(300, 1'000), ShareOf(700), WholeGpus(1),
                                             WholeOf("A30", 2), CpuTask(3'000)};
    for (int i = 0; i < 12; ++i) {
      JobSpec job = Loose("j" + std::to_string(i), static_cast<std::int64_t>(1 + rng.Below(3)),
                          shapes[static_cast<std::size_t>(rng.Below(shapes.size()))]);
      if (rng.Below(2) == 0) job.groups[0].min_available = 1;
      job.priority = static_cast<std::int64_t>(rng.Below(2));
      world.Submit(job);
    }
    world.Tell(HoldOf("h", "j3", "n0", CpuTask(2'000), {}));
    world.Cycle();
    const ClusterState& state = world.engine.state();
    for (std::uint32_t slot = 0; slot < state.jobs().slots(); ++slot) {
      const GroupState& group = state.jobs()[slot].groups[0];
      if (group.wanted_in(TaskPhase::kPending) == 0) continue;
      ++waiting;
      for (const std::uint32_t node : state.nodes().order()) {
        ASSERT_FALSE(Fits(state.node(node), state.shapes()[group.shape]))
            << "seed " << seed << ": " << state.jobs()[slot].spec.name << " on node " << node;
      }
    }
  }
  EXPECT_GT(waiting, 300);
}

}  // namespace
}  // namespace gpusched
