#include "gpusched/index/ever_fits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "device_kinds.h"
#include "gpusched/engine/explain.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(EverFits, SaysOfARefusedTaskWhatTheFullAccountSays) {
  int never = 0;
  int wait = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 6);
    cluster.AddNode({.name = "kinds",
                     .cpu_milli = 2'000,
                     .mem_mib = 2'000,
                     .devices = {DevicesOfEveryKind()[rng.Below(10)]}});
    EverFits ever_fits;
    std::vector<ShapeSpec> asks = Asks();
    for (int i = 0; i < 40; ++i) asks.push_back(RandomShape(rng));
    for (int round = 0; round < 3; ++round) {
      for (const ShapeSpec& ask : asks) {
        const Shape& shape = cluster.state.shapes()[cluster.Intern(ask)];
        const StateView view(cluster.state);
        bool fits = false;
        for (const std::uint32_t slot : view.node_order()) {
          fits = fits || Fits(view.node(slot), shape);
        }
        if (fits) continue;
        const Refusal refusal = ExplainNodes(view, shape, [](const NodeView&, const auto&) {});
        ASSERT_EQ(ever_fits(cluster.state, shape), refusal.outcome == Outcome::kWait);
        ASSERT_EQ(ever_fits(cluster.state, Shape(shape)), refusal.outcome == Outcome::kWait);
        ++(refusal.outcome == Outcome::kWait ? wait : never);
      }
      // What is known is forgotten when there is more, or less.
      if (round == 0) {
        cluster.AddNode({.name = "big",
                         .cpu_milli = 90'000,
                         .mem_mib = 90'000,
                         .devices = std::vector<DeviceSpec>(
                             4, DeviceSpec{.model = "T4", .gpu_mem_mib = 90'000})});
      } else if (round == 1) {
        cluster.RemoveNode(*cluster.state.FindNode("big"));
      }
    }
  }
  EXPECT_GT(never, 500);
  EXPECT_GT(wait, 100);
}

}  // namespace
}  // namespace gpusched
