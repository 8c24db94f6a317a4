// What each event about a node does, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TEST(AddNodeEvent, RefusesALiveNameAndABadSpec) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  EXPECT_TRUE(Refused(world.Refusal(AddNode{GpuNode("a", 2)}), Code::kAlreadyExists, {"'a'"}));
  EXPECT_TRUE(Refused(world.Refusal(AddNode{GpuNode("", 1)}), Code::kInvalidArgument, {"name"}));
  EXPECT_TRUE(Refused(world.Refusal(AddNode{GpuNode("b", 1, "T5")}), Code::kInvalidArgument,
                      {"'T5'", "T4"}));
}

TEST(UpdateNodeEvent, ChangesOnlyThePartsThatAreThere) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  UpdateNode update = Change("a");
  update.cpu_milli = 5'000;
  world.Tell(update);
  const NodeId node = *world.engine.state().FindNode("a");
  NodeSpec expected = GpuNode("a", 2);
  expected.cpu_milli = 5'000;
  EXPECT_EQ(world.engine.state().NodeSpecOf(node), expected);
  UpdateNode foreign = Change("a");
  foreign.foreign = ForeignUsage{.cpu_milli = 4'000, .device_milli = {0, 300}};
  world.Tell(foreign);
  EXPECT_EQ(world.engine.state().node(node.slot).cpu_free(), 1'000);
  EXPECT_EQ(world.engine.state().node(node.slot).devices()[1].gpu_milli, 700);
  EXPECT_EQ(world.engine.state().NodeSpecOf(node), expected);
}

// S-26: a watch tells the same again and again.
TEST(UpdateNodeEvent, ToldAgainChangesNothing) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  UpdateNode update = Change("a");
  update.devices = GpuNode("a", 4).devices;
  update.foreign = ForeignUsage{.cpu_milli = 1, .device_milli = {7}};
  world.Tell(update);
  EXPECT_NE(world.Ignored(update).find("'a'"), std::string::npos);
  world.Ignored(Change("a"));
}

TEST(UpdateNodeEvent, SaysWhatItRefuses) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  EXPECT_TRUE(Refused(world.Refusal(Change("b")), Code::kNotFound, {"node", "'b'"}));
  UpdateNode update = Change("a");
  update.cpu_milli = -1;
  EXPECT_TRUE(Refused(world.Refusal(update), Code::kInvalidArgument, {"cpu_milli"}));
  update = Change("a");
  update.foreign = ForeignUsage{.device_milli = {0, 1}};
  EXPECT_TRUE(Refused(world.Refusal(update), Code::kInvalidArgument, {"device_milli"}));
}

TEST(UpdateNodeEvent, MayShrinkAndSayWhatOthersUseInOne) {
  TestEngine world;
  world.Node(GpuNode("a", 4));
  UpdateNode update = Change("a");
  update.foreign = ForeignUsage{.device_milli = {0, 0, 0, 900}};
  world.Tell(update);
  update.devices = GpuNode("a", 2).devices;
  update.foreign = ForeignUsage{.device_milli = {0, 900}};
  world.Tell(update);
  EXPECT_EQ(world.engine.state().node(0).gpu_free_milli(), 1'100);
  update.foreign = ForeignUsage{.device_milli = {0, 0, 900}};
  EXPECT_TRUE(
      Refused(world.Refusal(update), Code::kInvalidArgument, {"device_milli", "use at most 2"}));
}

TEST(UpdateNodeEvent, ANodeThatShrinksUnderItsTasksHasNothingFreeAndSaysSo) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("gpu", 1, WholeGpus(1)));
  world.Submit(Gang("cpu", 1, CpuTask(90'000)));
  world.Cycle();
  world.StartAll();
  EXPECT_FALSE(world.Task("gpu").over);
  UpdateNode update = Change("a");
  update.cpu_milli = 1'000;
  world.Tell(update);
  EXPECT_TRUE(world.Task("cpu").over);
  EXPECT_FALSE(world.Task("gpu").over) << "it uses no CPU";
  EXPECT_EQ(world.engine.state().node(0).cpu_free(), 0);
  update.cpu_milli = 96'000;
  update.devices = GpuNode("a", 0).devices;
  world.Tell(update);
  EXPECT_FALSE(world.Task("cpu").over);
  EXPECT_TRUE(world.Task("gpu").over) << "its device is lost";
  EXPECT_EQ(world.Task("gpu").phase, TaskPhase::kRunning) << "it runs on until somebody says not";
  EXPECT_EQ(world.Cycle(), "") << "nobody is evicted because of it";
  world.Tell(TaskFinished{Key("gpu")});
  EXPECT_EQ(world.engine.state().nodes().devices(0).size(), 0U);
}

TEST(UpdateNodeEvent, ALostDeviceIsNotGivenToAnybody) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  UpdateNode update = Change("a");
  update.devices = GpuNode("a", 1).devices;
  world.Tell(update);
  world.Submit(Gang("j", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j rejected GangDoesNotFit");
}

TEST(UpdateNodeEvent, ADeviceOfAnotherModelNeedsToBeFree) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  UpdateNode update = Change("a");
  update.devices = GpuNode("a", 2, "A30").devices;
  EXPECT_TRUE(Refused(world.Refusal(update), Code::kFailedPrecondition, {"devices[0].model"}));
}

TEST(RemoveNodeEvent, QueuesItsTasksAgainOnce) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Loose("j", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskStarted{Key("j", 0), {}});
  EXPECT_EQ(Requeued(world.Tell(RemoveNode{"a"})), "j/main/0#1 j/main/1#1");
  EXPECT_EQ(world.Ignored(RemoveNode{"a"}), "no node 'a' is here (any more)");
  EXPECT_EQ(world.Task("j", 0).task.attempt, 2);
}

TEST(RemoveNodeEvent, ANodeThatIsBackIsEmpty) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.Tell(RemoveNode{"a"});
  world.Node(GpuNode("a", 1));
  EXPECT_EQ(world.engine.state().node(0).whole_free(), 1U);
  EXPECT_EQ(world.Cycle(), "j/main/0#2@a");
}

TEST(CordonNodeEvent, KeepsNewTasksOffAndLeavesThoseThatRun) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.Tell(CordonNode{"a"});
  world.Submit(Gang("k", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "k waits Cordoned");
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kAssumed);
  world.Ignored(CordonNode{"a", true});
  world.Tell(CordonNode{"a", false});
  EXPECT_EQ(world.Cycle(), "k/main/0@a");
  world.Ignored(CordonNode{"a", false});
  EXPECT_TRUE(Refused(world.Refusal(CordonNode{"b"}), Code::kNotFound, {"'b'"}));
}

}  // namespace
}  // namespace gpusched
