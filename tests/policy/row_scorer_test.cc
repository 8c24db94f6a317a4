#include "gpusched/policy/row_scorer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/weighted.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

// A row is, shape by shape, what the score says of its best choice.
template <NodeScore P>
void ExpectRowsLike(const std::string& name, TestCluster& cluster, const P& score,
                    const std::vector<Shape>& shapes) {
  const std::unique_ptr<RowScorer> rows = RowsOf(score);
  ASSERT_NE(rows, nullptr);
  DirectRows<P> direct(score);
  for (std::size_t lane = 0; lane < shapes.size(); ++lane) {
    rows->SetLane(lane, shapes[(lane + 1) % shapes.size()]);
    rows->SetLane(lane, shapes[lane]);
    direct.SetLane(lane, shapes[lane]);
  }
  for (const std::uint32_t slot : cluster.state.nodes().order()) {
    const NodeView node = cluster.state.node(slot);
    LaneMask fitting;
    for (std::size_t lane = 0; lane < shapes.size(); ++lane) {
      if (Fits(node, shapes[lane])) fitting.Insert(lane);
    }
    std::vector<Score> one(kMaxLanes, -1), two(kMaxLanes, -1);
    rows->ScoreRow(node, fitting, one.data());
    direct.ScoreRow(node, fitting, two.data());
    ASSERT_EQ(one, two) << name;  // lanes that were not asked about are left alone
    fitting.ForEach([&](std::size_t lane) {
      for (const DeviceOrder order : {DeviceOrder::kFullestFirst, DeviceOrder::kLowestIndex}) {
        const NodeChoice a = rows->Best(node, lane, order);
        const NodeChoice b = direct.Best(node, lane, order);
        EXPECT_EQ(a.choice, b.choice) << name << " lane " << lane;
        EXPECT_EQ(a.score, b.score) << name << " lane " << lane;
        EXPECT_EQ(a.score, one[lane]) << name << " lane " << lane;
      }
    });
  }
}

TEST(RowScorer, ScoresAsTheScoreItselfDoes) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 10);
    std::vector<ShapeSpec> asks;
    std::vector<Shape> shapes;
    for (int i = 0; i < 60; ++i) {
      asks.push_back(RandomShape(rng));
      asks.back().gpu_mem_mib = 0;
      shapes.push_back(cluster.ShapeOf(RandomShape(rng)));
    }
    const Fgd fgd = *Fgd::Build(TargetWorkload::FromRequests(asks), cluster.state);
    ExpectRowsLike("fgd", cluster, fgd, shapes);
    ExpectRowsLike("best_fit", cluster, BestFit{}, shapes);
    ExpectRowsLike("large norms", cluster,
                   BestFit{.norms = {.cpu_milli = ScoreNorms::kMaxCpuMilli,
                                     .gpu_milli = ScoreNorms::kMaxGpuMilli}},
                   shapes);
    ExpectRowsLike("small norms", cluster, BestFit{.norms = {.cpu_milli = 1, .gpu_milli = 1}},
                   shapes);
    ExpectRowsLike("sum", cluster, 0.8 * fgd + 0.2 * BestFit{}, shapes);
  }
}

TEST(RowScorer, ThereIsNoneForScoresThatDependOnMore) {
  EXPECT_EQ(RowsOf(Random{1}), nullptr);
  EXPECT_EQ(RowsOf(1.0 * BestFit{} + 1.0 * Random{1}), nullptr);
  EXPECT_EQ(RowsOf(AnyScore(Random{1})), nullptr);
  EXPECT_NE(RowsOf(AnyScore(BestFit{})), nullptr);
}

TEST(RowScorer, SaysWhetherManyLanesAreABurden) {
  struct Own {
    static constexpr Reads reads() { return Reads::kNode; }
    static constexpr ScoreRange range() { return {0, 1}; }
    Score operator()(const NodeView&, const Shape&, const DeviceChoice&) const { return 0; }
  };
  EXPECT_TRUE(RowsOf(BestFit{})->shares_work());
  EXPECT_FALSE(RowsOf(Own{})->shares_work());
  EXPECT_FALSE(RowsOf(1.0 * BestFit{} + 1.0 * Own{})->shares_work());
}

}  // namespace
}  // namespace gpusched
