#include "gpusched/index/lane_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "device_kinds.h"
#include "gpusched/state/fit.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(LaneFilter, AnswersAsFitsDoesForEachLane) {
  std::size_t fitting = 0;
  std::size_t asked = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 12);
    cluster.AddNode(
        {.name = "all", .cpu_milli = 4'000, .mem_mib = 4'000, .devices = DevicesOfEveryKind()});
    LaneFilter filter;
    std::vector<ShapeSpec> asks = Asks();
    for (int i = 0; i < 50; ++i) asks.push_back(RandomShape(rng));
    asks.push_back({.cpu_milli = kMaxQuantity, .models = {}});
    // Lanes may be given in any order, anew, and with gaps.
    for (std::size_t i = 0; i < asks.size(); ++i) {
      filter.SetLane((i * 37) % 128, cluster.ShapeOf(asks[i]));
    }
    filter.SetLane(0, cluster.ShapeOf(asks[1]));
    for (const std::uint32_t slot : cluster.state.nodes().order()) {
      const NodeView node = cluster.state.node(slot);
      const LaneMask fit = filter.Fit(node);
      for (std::size_t lane = 0; lane < filter.lanes(); ++lane) {
        const bool expected = Fits(node, filter.shape(lane));
        ASSERT_EQ(fit.contains(lane), expected) << "seed " << seed << " lane " << lane;
        fitting += expected ? 1 : 0;
        ++asked;
      }
    }
  }
  EXPECT_GT(fitting, asked / 20);
  EXPECT_LT(fitting, asked / 2);
}

TEST(LaneFilter, NothingFitsACordonedNodeOrWithoutLanes) {
  TestCluster cluster;
  const NodeId node =
      cluster.AddNode({.name = "n", .cpu_milli = 1'000, .mem_mib = 0, .devices = {}});
  LaneFilter filter;
  EXPECT_TRUE(filter.Fit(cluster.node(node)).empty());
  filter.SetLane(3, cluster.ShapeOf({.cpu_milli = 500, .models = {}}));
  EXPECT_TRUE(filter.Fit(cluster.node(node)).contains(3));
  EXPECT_FALSE(filter.Fit(cluster.node(node)).contains(2));
  Transaction transaction(cluster.state);
  ASSERT_TRUE(transaction.SetCordoned(node, true).ok());
  EXPECT_TRUE(filter.Fit(cluster.node(node)).empty());
}

}  // namespace
}  // namespace gpusched
