// Who may be together on a node: tasks per node, affinity, anti-affinity.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/engine_fixture.h"
#include "gpusched/policy/score/worst_fit.h"

namespace gpusched {
namespace {

EnginePolicies Spreading() {
  EnginePolicies policies;
  policies.placer = PlacerOf(WorstFit{});
  return policies;
}

TEST(MaxTasksPerNode, SpreadsAGroup) {
  TestEngine world;
  for (const char* name : {"a", "b"}) world.Node(GpuNode(name, 4));
  JobSpec job = Gang("j", 3, WholeGpus(1));
  job.groups[0].max_tasks_per_node = 1;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j rejected GangDoesNotFit");
  world.Node(GpuNode("c", 4));
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@b, j/main/2@c");
}

TEST(MaxTasksPerNode, CountsTasksThatRunAlready) {
  TestEngine world;
  world.Node(GpuNode("a", 4));
  JobSpec job = Service("s", 3, WholeGpus(1));
  job.groups[0].max_tasks_per_node = 2;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "s/main/0@a, s/main/1@a, s waits TooManyTasksOnNode");
  EXPECT_EQ(world.Cycle(), "s waits TooManyTasksOnNode");
  EXPECT_EQ(world.Why("s").need, 3);
  EXPECT_EQ(world.Why("s").have, 2);
}

JobSpec Labelled(JobSpec job, std::string value) {
  job.labels = {{.key = "app", .value = std::move(value)}};
  return job;
}

TEST(Affinity, GoesWhereTheCompanyIs) {
  TestEngine world({}, Spreading());
  for (const char* name : {"a", "b"}) world.Node(GpuNode(name, 4));
  JobSpec follower = Gang("follower", 2, WholeGpus(1));
  follower.affinity = {{.key = "app", .value = "web"}};
  world.Submit(follower);
  EXPECT_EQ(world.Cycle(), "follower waits Affinity");
  world.Submit(Labelled(Gang("web", 1, WholeGpus(1)), "web"));
  EXPECT_EQ(world.Cycle(), "follower waits Affinity, web/main/0@a");
  EXPECT_EQ(world.Cycle(), "follower/main/0@a, follower/main/1@a");
}

TEST(Affinity, TheFirstOfItsKindGoesAnywhereAndTheRestFollow) {
  TestEngine world({}, Spreading());
  for (const char* name : {"a", "b"}) world.Node(GpuNode(name, 3));
  JobSpec job = Labelled(Gang("j", 3, WholeGpus(1)), "web");
  job.affinity = job.labels;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@a, j/main/2@a");
}

// The first choice, the emptier node, has no room for the second task, and where the first task is
// decides where the second may be.
TEST(Affinity, AGangOfItsOwnKindGoesBackOnItsFirstChoice) {
  TestEngine world;
  world.Node(GpuNode("small", 1));
  world.Node(GpuNode("large", 2));
  JobSpec job = Labelled(Gang("j", 2, WholeGpus(1)), "web");
  job.affinity = job.labels;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j/main/0@large, j/main/1@large");
}

TEST(AntiAffinity, KeepsAJobOffAndOthersOffIt) {
  for (const bool shy_first : {true, false}) {
    TestEngine world;
    for (const char* name : {"a", "b"}) world.Node(GpuNode(name, 2));
    JobSpec shy = Gang("shy", 1, WholeGpus(1));
    shy.anti_affinity = {{.key = "app", .value = "loud"}};
    const JobSpec loud = Labelled(Gang("loud", 1, WholeGpus(1)), "loud");
    world.Submit(shy_first ? shy : loud);
    world.Cycle();
    world.Submit(shy_first ? loud : shy);
    world.Cycle();
    EXPECT_NE(world.Task("shy").node, world.Task("loud").node) << shy_first;
  }
}

TEST(AntiAffinity, BothDirectionsHoldInOneCycle) {
  TestEngine world;
  world.Node(GpuNode("a", 4));
  JobSpec shy = Gang("shy", 1, WholeGpus(1));
  shy.anti_affinity = {{.key = "app", .value = "loud"}};
  world.Submit(shy);
  world.Submit(Labelled(Gang("loud", 1, WholeGpus(1)), "loud"));
  EXPECT_EQ(world.Cycle(), "shy/main/0@a, loud waits AntiAffinity");
}

TEST(AntiAffinity, ToItsOwnLabelSpreadsAGang) {
  TestEngine world;
  for (const char* name : {"a", "b"}) world.Node(GpuNode(name, 4));
  JobSpec job = Labelled(Gang("j", 2, WholeGpus(1)), "x");
  job.anti_affinity = job.labels;
  world.Submit(job);
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@b");
}

// What was once learnt of a shape must not be taken for granted for a job that minds company.
TEST(AntiAffinity, AnEqualShapeOfAnotherJobIsAskedAnew) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  JobSpec shy = Gang("shy", 1, WholeGpus(1));
  shy.anti_affinity = {{.key = "app", .value = "loud"}};
  world.Submit(Labelled(Gang("loud", 1, WholeGpus(1)), "loud"));
  world.Submit(shy);
  world.Submit(Gang("plain", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "loud/main/0@a, shy waits AntiAffinity, plain/main/0@a");
}

}  // namespace
}  // namespace gpusched
