#include "gpusched/state/state_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

// What a hash must see. Built from this description, so that each field can be varied alone.
struct Content {
  NodeSpec a = GpuNode("a", 2);
  NodeSpec b = GpuNode("b", 0);
  ForeignUsage foreign = {.cpu_milli = 10, .mem_mib = 20, .device_milli = {30, 40}};
  std::string task = "t";
  ShapeSpec shape = {.cpu_milli = 100,
                     .mem_mib = 200,
                     .gpu_count = 1,
                     .gpu_milli = 300,
                     .gpu_mem_mib = 400,
                     .models = {"A10", "T4"}};
  std::string node = "a";
  DeviceMask devices = DeviceMask::Of(0);
};

void Build(const Content& content, TestCluster& cluster) {
  cluster.AddNode(content.a);
  cluster.AddNode(content.b);
  const NodeId node = *cluster.state.FindNode(content.node);
  cluster.Place(content.task, content.shape, node, content.devices);
  cluster.SetForeign(*cluster.state.FindNode(content.a.name), content.foreign);
}

std::uint64_t HashOf(const Content& content) {
  TestCluster cluster;
  Build(content, cluster);
  return cluster.hash();
}

TEST(StateHash, ChangesWithEveryPieceOfContent) {
  const std::vector<std::pair<std::string, std::function<void(Content&)>>> changes = {
      {"nothing", [](Content&) {}},
      {"node name", [](Content& c) { c.a.name = c.node = "c"; }},
      {"cpu", [](Content& c) { ++c.a.cpu_milli; }},
      {"memory", [](Content& c) { ++c.a.mem_mib; }},
      {"device count", [](Content& c) { c.a.devices.push_back(c.a.devices[0]); }},
      {"device model", [](Content& c) { c.a.devices[1].model = "A10"; }},
      {"device milli", [](Content& c) { c.a.devices[1].gpu_milli = 999; }},
      {"device memory 0", [](Content& c) { c.a.devices[1].gpu_mem_mib = 0; }},
      {"device memory 1", [](Content& c) { c.a.devices[1].gpu_mem_mib = 1; }},
      {"other node", [](Content& c) { ++c.b.cpu_milli; }},
      {"foreign cpu", [](Content& c) { ++c.foreign.cpu_milli; }},
      {"foreign memory", [](Content& c) { ++c.foreign.mem_mib; }},
      {"foreign device 0", [](Content& c) { ++c.foreign.device_milli[0]; }},
      {"foreign device 1", [](Content& c) { ++c.foreign.device_milli[1]; }},
      {"foreign devices swapped",
       [](Content& c) {
         c.foreign.device_milli = {40, 30};
       }},
      {"task name", [](Content& c) { c.task = "u"; }},
      {"task cpu", [](Content& c) { ++c.shape.cpu_milli; }},
      {"task memory", [](Content& c) { ++c.shape.mem_mib; }},
      {"task share", [](Content& c) { ++c.shape.gpu_milli; }},
      {"task device memory", [](Content& c) { ++c.shape.gpu_mem_mib; }},
      {"task models: fewer", [](Content& c) { c.shape.models = {"T4"}; }},
      {"task models: others",
       [](Content& c) {
         c.shape.models = {"T4", "K80"};
       }},
      {"task models: any", [](Content& c) { c.shape.models = {}; }},
      {"task device", [](Content& c) { c.devices = DeviceMask::Of(1); }},
      {"task on two",
       [](Content& c) {
         c.shape.gpu_count = 2;
         c.shape.gpu_milli = 1000;
         c.devices = Devices({0, 1});
       }},
      {"task without gpu",
       [](Content& c) {
         c.shape = CpuTask(100, 200);
         c.devices = {};
       }},
      {"task without gpu elsewhere",
       [](Content& c) {
         c.shape = CpuTask(100, 200);
         c.devices = {};
         c.node = "b";
       }},
  };
  std::map<std::uint64_t, std::string> seen;
  for (const auto& [what, change] : changes) {
    Content content;
    change(content);
    const auto [it, added] = seen.emplace(HashOf(content), what);
    EXPECT_TRUE(added) << what << " hashes like " << it->second;
  }
}

TEST(StateHash, IsZeroForNothing) { EXPECT_EQ(StateHash(ClusterState()), 0U); }

TEST(StateHash, DoesNotSeeTheOrderOfJoining) {
  TestCluster one;
  one.AddNode(GpuNode("a", 1, "T4"));
  one.AddNode(GpuNode("b", 1, "A10"));
  TestCluster two;
  two.AddNode(GpuNode("b", 1, "A10"));
  two.AddNode(GpuNode("a", 1, "T4"));
  EXPECT_EQ(one.hash(), two.hash());
}

TEST(StateHash, DoesNotSeeWhoNamedAModelFirst) {
  Content content;
  TestCluster one;
  Build(content, one);
  TestCluster two;
  ShapeSpec first = ShareOf(1);
  first.models = {"K80", "A10"};
  two.Intern(first);
  std::swap(content.shape.models[0], content.shape.models[1]);
  content.shape.models.push_back("T4");  // named twice is named once
  Build(content, two);
  EXPECT_EQ(one.hash(), two.hash());
}

TEST(StateHash, DoesNotSeeSlotsGenerationsAndInternedShapes) {
  TestCluster fresh;
  Build(Content(), fresh);
  TestCluster used;
  used.Intern(WholeGpus(4));
  const NodeId gone = used.AddNode(GpuNode("gone", 2));
  used.AddNode(GpuNode("between", 2));
  used.Release(used.Place("old", WholeGpus(2), gone, Devices({0, 1})));
  used.RemoveNode(gone);
  Build(Content(), used);
  used.RemoveNode(*used.state.FindNode("between"));
  EXPECT_EQ(used.hash(), fresh.hash());
}

TEST(StateHash, TwoTasksThatSwapPlacesAreAnotherTruth) {
  const auto with = [](int first, int second) {
    TestCluster cluster;
    const NodeId node = cluster.AddNode(GpuNode("a", 2));
    cluster.Place("t", WholeGpus(1), node, DeviceMask::Of(first));
    cluster.Place("u", WholeGpus(1), node, DeviceMask::Of(second));
    return cluster.hash();
  };
  EXPECT_NE(with(0, 1), with(1, 0));
}

}  // namespace
}  // namespace gpusched
