#include "gpusched/policy/score/mig_start.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/weighted.h"

namespace gpusched {
namespace {

NodeSpec Partitioned(std::string name, int devices, const std::string& model = "A100-SXM4-40GB") {
  NodeSpec node{.name = std::move(name), .cpu_milli = 64'000, .mem_mib = 1'000, .devices = {}};
  node.devices.assign(static_cast<std::size_t>(devices),
                      {.model = model, .gpu_mem_mib = std::nullopt, .partition_on_demand = true});
  return node;
}

ShapeSpec Profile(const std::string& name) {
  return {.gpu_count = 1, .models = {}, .mig_profile = name};
}

// Where a scheduler puts them, one after the other: "n1:0:3g.20gb@4".
template <class P>
std::vector<std::string> Put(TestCluster& cluster, const P& policy,
                             const std::vector<ShapeSpec>& asks) {
  BasicScheduler<P> scheduler(cluster.state, policy);
  std::vector<std::string> where;
  for (const ShapeSpec& ask : asks) {
    const auto decision =
        scheduler.Place("t" + std::to_string(cluster.state.tasks().slots()), cluster.Intern(ask));
    EXPECT_TRUE(decision.ok() && decision->placed()) << decision.status();
    if (!decision.ok() || !decision->placed()) return where;
    std::string text(cluster.state.node_name(decision->placement.node));
    for (DeviceMask rest = decision->placement.devices; !rest.empty(); rest.DropFirst()) {
      text += ":" + std::to_string(rest.First());
    }
    for (const MigInstance& instance : decision->placement.instances) {
      text += ":" + instance.profile + "@" + std::to_string(instance.start);
    }
    where.push_back(text);
  }
  return where;
}

using Places = std::vector<std::string>;

TEST(MigStart, KeepsTheMostValuableProfilePossible) {
  TestCluster cluster;
  cluster.AddNode(Partitioned("a", 1));
  EXPECT_EQ(Put(cluster, MigStart{}, {Profile("3g.20gb"), Profile("4g.20gb")}),
            (Places{"a:0:3g.20gb@4", "a:0:4g.20gb@0"}));
}

TEST(MigStart, ABrokenDeviceComesBeforeAWholeOneOnAnyNode) {
  TestCluster cluster;
  cluster.AddNode(Partitioned("a", 1));
  const NodeId b = cluster.AddNode(Partitioned("b", 1));
  {
    const ShapeId shape = cluster.Intern(Profile("1g.5gb"));
    Transaction transaction(cluster.state);
    ASSERT_TRUE(
        transaction
            .Place("old", shape,
                   {.node = b, .devices = DeviceMask::Of(0), .instances = {{0, "1g.5gb", 0}}})
            .ok());
    transaction.Commit();
  }
  EXPECT_EQ(Put(cluster, MigStart{}, {Profile("1g.5gb"), Profile("3g.20gb"), Profile("7g.40gb")}),
            (Places{"b:0:1g.5gb@1", "b:0:3g.20gb@4", "a:0:7g.40gb@0"}));
}

TEST(MigStart, OthersKeepOffDevicesThatCouldBePartitioned) {
  TestCluster cluster;
  cluster.AddNode(Partitioned("a", 1));
  cluster.AddNode(GpuNode("b", 1));
  EXPECT_EQ(Put(cluster, MigStart{}, {ShareOf(100), WholeGpus(1)}), (Places{"b:0", "a:0"}));
}

TEST(MigStart, StaysInItsRange) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(Partitioned("a", 2));
  const NodeView node = cluster.node(id);
  const Shape seven = cluster.ShapeOf(Profile("7g.40gb"));
  EXPECT_EQ(MigStart{}(node, seven, ChooseDevices(node, seven, {})), 0) << "all is lost";
  EXPECT_EQ(MigStart{}(node, cluster.ShapeOf(CpuTask(1)), {}), 10'000);
  EXPECT_EQ(MigStart{}(node, cluster.ShapeOf(WholeGpus(2)), DeviceMask::FirstOf(2)), 0);
}

// Best fit says which node, MigStart which start.
TEST(MigStart, ComposesWithBestFitAndFgd) {
  TestCluster cluster;
  cluster.AddNode(Partitioned("a", 2));
  cluster.AddNode(Partitioned("b", 1));
  const auto sum = 0.5 * BestFit{} + 0.5 * MigStart{};
  EXPECT_EQ(Put(cluster, sum, {Profile("3g.20gb"), Profile("4g.20gb")}),
            (Places{"b:0:3g.20gb@4", "b:0:4g.20gb@0"}));
  const TargetWorkload target = *TargetWorkload::FromShapes({{.cpu_milli = 0,
                                                              .gpu_milli = 0,
                                                              .gpu_count = 1,
                                                              .models = {},
                                                              .count = 1,
                                                              .gpu_mem_mib = 0,
                                                              .mig_profile = "4g.20gb"}});
  const Fgd fgd = *Fgd::Build(target, cluster.state);
  EXPECT_EQ(Put(cluster, 0.5 * fgd + 0.5 * MigStart{}, {Profile("3g.20gb")}),
            (Places{"a:0:3g.20gb@4"}));
  EXPECT_EQ(Put(cluster, fgd, {Profile("2g.10gb")}), (Places{"a:1:2g.10gb@4"}))
      << "what is left of device 0 is still of use to the target, and so is device 1";
}

}  // namespace
}  // namespace gpusched
