// The search for places of a gang: complete within its limit, and never wrong about "never".
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_fixture.h"
#include "gpusched/base/rng.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/worst_fit.h"

namespace gpusched {
namespace {

// With best fit, first fit and worst fit.
std::vector<EnginePolicies> SomePolicies() {
  std::vector<EnginePolicies> policies(3);
  policies[0].placer = PlacerOf(BestFit{});
  policies[1].placer = PlacerOf(FirstFit{});
  policies[2].placer = PlacerOf(WorstFit{});
  return policies;
}

NodeSpec CpuNode(std::string name, std::int64_t cpu_milli, std::int64_t mem_mib = 0) {
  return {.name = std::move(name), .cpu_milli = cpu_milli, .mem_mib = mem_mib, .devices = {}};
}

// 53 and 31 CPUs hold 50 and 30 in one way only. (S-48)
TEST(GangSearch, FindsTheOneWayThatThereIs) {
  for (EnginePolicies& policies : SomePolicies()) {
    for (const bool small_first : {true, false}) {
      for (const bool large_node_first : {true, false}) {
        TestEngine world({}, policies);
        world.Node(large_node_first ? CpuNode("large", 53'000) : CpuNode("small", 31'000));
        world.Node(large_node_first ? CpuNode("small", 31'000) : CpuNode("large", 53'000));
        std::vector<TaskGroupSpec> groups = {Group("thirty", 1, CpuTask(30'000)),
                                             Group("fifty", 1, CpuTask(50'000))};
        if (!small_first) std::swap(groups[0], groups[1]);
        world.Submit(Job("j", groups));
        world.Cycle();
        EXPECT_EQ(world.Task("j", 0, "thirty").node, "small");
        EXPECT_EQ(world.Task("j", 0, "fifty").node, "large");
      }
    }
  }
}

// Largest first by CPU puts x on a node of much memory, where y would have to go.
TEST(GangSearch, GoesBackOnAChoiceThatLeavesALaterTaskWithoutAPlace) {
  for (EnginePolicies& policies : SomePolicies()) {
    for (const bool turned : {true, false}) {
      TestEngine world({}, policies);
      world.Node(turned ? CpuNode("much", 10'000, 10) : CpuNode("little", 10'000, 4));
      world.Node(turned ? CpuNode("little", 10'000, 4) : CpuNode("much", 10'000, 10));
      world.Submit(Job("j", {Group("x", 1, CpuTask(8'000, 2)), Group("y", 1, CpuTask(5'000, 8))}));
      world.Cycle();
      EXPECT_EQ(world.Task("j", 0, "x").node, "little");
      EXPECT_EQ(world.Task("j", 0, "y").node, "much");
    }
  }
}

// A task as CPU, memory and the group that it is of; a node with what is free and how many tasks of
// each group are there.
struct ToyTask {
  std::int64_t cpu, memory;
  std::size_t group;
};
struct ToyNode {
  std::int64_t cpu, memory;
  std::array<std::int64_t, 3> tasks{};
};

// Whether there is some way to place them, with so many of a group on a node at most.
bool AnyWay(const std::vector<ToyTask>& tasks, std::size_t next, std::vector<ToyNode>& nodes,
            const std::array<std::int64_t, 3>& limits) {
  if (next == tasks.size()) return true;
  const ToyTask& task = tasks[next];
  for (ToyNode& node : nodes) {
    if (node.cpu < task.cpu || node.memory < task.memory) continue;
    if (node.tasks[task.group] >= limits[task.group]) continue;
    const ToyNode before = node;
    node.cpu -= task.cpu;
    node.memory -= task.memory;
    ++node.tasks[task.group];
    const bool found = AnyWay(tasks, next + 1, nodes, limits);
    node = before;
    if (found) return true;
  }
  return false;
}

TEST(GangSearch, FindsAWayExactlyIfThereIsOne) {
  std::array<int, 2> seen{};
  std::vector<EnginePolicies> policies = SomePolicies();
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Rng rng(seed);
    const auto number = [&](std::int64_t least, std::uint64_t choices) {
      return least + static_cast<std::int64_t>(rng.Below(choices));
    };
    TestEngine world({.gang_search_limit = 1'000'000}, policies[seed % policies.size()]);
    std::vector<ToyNode> nodes;
    for (int i = 0; i < 3; ++i) {
      nodes.push_back({.cpu = number(4, 6), .memory = number(4, 6)});
      world.Node(CpuNode("n" + std::to_string(i), nodes.back().cpu, nodes.back().memory));
    }
    JobSpec job = Job("j", {});
    std::vector<ToyTask> tasks;
    std::array<std::int64_t, 3> limits{};
    for (std::size_t g = 0; g < 3; ++g) {
      const ToyTask ask{.cpu = number(1, 5), .memory = number(1, 5), .group = g};
      const std::int64_t count = number(1, 3);
      limits[g] = number(1, 3);
      job.groups.push_back(Group("g" + std::to_string(g), count, CpuTask(ask.cpu, ask.memory)));
      job.groups.back().max_tasks_per_node = limits[g];
      tasks.insert(tasks.end(), static_cast<std::size_t>(count), ask);
    }
    world.Submit(job);
    const bool possible = AnyWay(tasks, 0, nodes, limits);
    const std::string story = world.Cycle();
    ASSERT_EQ(world.engine.state().tasks().size(), possible ? tasks.size() : 0)
        << "seed " << seed << ": " << story;
    ASSERT_FALSE(possible && story.find("rejected") != std::string::npos);
    ++seen[possible ? 1 : 0];
  }
  EXPECT_GT(seen[0], 50);
  EXPECT_GT(seen[1], 50);
}

// What a busy cluster does not hold must not be called impossible if the empty one would hold it.
TEST(GangSearch, WhatAnEmptyClusterHoldsIsNeverRejected) {
  int waits = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Rng rng(seed);
    TestEngine world;
    for (int i = 0; i < 3; ++i) {
      world.Node(GpuNode("n" + std::to_string(i), static_cast<int>(1 + rng.Below(3)),
                         rng.Below(2) == 0 ? "T4" : "A30"));
    }
    JobSpec job = Gang("j", static_cast<std::int64_t>(1 + rng.Below(4)),
                       WholeGpus(static_cast<std::int64_t>(1 + rng.Below(2))));
    if (rng.Below(2) == 0) job.groups[0].max_tasks_per_node = 1;
    if (rng.Below(3) == 0) job.homogeneous = true;
    if (rng.Below(3) == 0) job.groups.push_back(Group("more", 1, ShareOf(500)));
    TestEngine empty(*world.engine.Fork());
    empty.Submit(job);
    const bool possible = empty.Cycle().find("j/main/0@") == 0;
    world.Submit(Loose("busy", 4, ShareOf(600)));
    world.Cycle();
    world.Submit(job);
    const std::string story = world.Cycle();
    ASSERT_FALSE(possible && story.find("j rejected") != std::string::npos)
        << "seed " << seed << ": " << story;
    waits += story.find("j waits") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(waits, 100);
}

// The larger task takes the node that comes first, and only there would the other one do: it takes
// two searches beyond one a task to find the way.
JobSpec NeedsASecondTry() {
  ShapeSpec picky = WholeGpus(1);
  picky.models = {"A30"};
  return Job("j", {Group("x", 1, WholeGpus(1, 1000)), Group("y", 1, picky)});
}

TEST(GangSearch, AtItsLimitAGangWaitsAndIsNotCalledImpossible) {
  TestEngine world({.gang_search_limit = 1});
  world.Node(GpuNode("a", 1, "A30"));
  world.Node(GpuNode("t", 1, "T4"));
  world.Submit(NeedsASecondTry());
  EXPECT_EQ(world.Cycle(), "j waits GangDoesNotFit");
  EXPECT_EQ(world.Why("j").need, 2);
  EXPECT_EQ(world.Why("j").have, 1);
  EXPECT_NE(world.engine.Explain("j")->groups.at(0).text.find("search limit"), std::string::npos);
}

TEST(GangSearch, OneMoreSearchFindsIt) {
  TestEngine world({.gang_search_limit = 2});
  world.Node(GpuNode("a", 1, "A30"));
  world.Node(GpuNode("t", 1, "T4"));
  world.Submit(NeedsASecondTry());
  EXPECT_EQ(world.Cycle(), "j/x/0@t, j/y/0@a");
}

TEST(GangSearch, ALimitOfOneJobIsNotThatOfTheNext) {
  TestEngine world({.gang_search_limit = 1});
  world.Node(GpuNode("a", 1, "A30"));
  world.Node(GpuNode("t", 1, "T4"));
  world.Submit(NeedsASecondTry());
  world.Submit(Gang("k", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j waits GangDoesNotFit, k/main/0@a, k/main/1@t");
}

}  // namespace
}  // namespace gpusched
