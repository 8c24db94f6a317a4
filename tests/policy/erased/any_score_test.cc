#include "gpusched/policy/erased/any_score.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/blend.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/weighted.h"
#include "gpusched/policy/score/worst_fit.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

std::vector<Score> Scores(const auto& policy, const TestCluster& cluster, const Shape& shape,
                          const std::vector<Candidate>& candidates, std::uint64_t sequence = 0) {
  std::vector<Score> scores(candidates.size(), -1);
  const StateView view(cluster.state);
  ScoreAll(policy,
           Batch{.view = view, .shape = shape, .sequence = sequence, .candidates = candidates},
           std::span<Score>(scores));
  return scores;
}

TEST(AnyScore, AnswersLikeWhatItHolds) {
  TestCluster cluster;
  const Fgd fgd = *Fgd::Build(
      *TargetWorkload::FromShapes({{.gpu_milli = 500, .gpu_count = 1, .models = {}, .count = 1}}),
      cluster.state);
  EXPECT_EQ(AnyScore(fgd).range(), Fgd::range());
  EXPECT_EQ(AnyScore(fgd).reads(), Fgd::kReads);
  EXPECT_EQ(AnyScore(fgd).device_order(), DeviceOrder::kLowestIndex);
  EXPECT_EQ(AnyScore(BestFit()).device_order(), DeviceOrder::kFullestFirst);
  EXPECT_EQ(AnyScore(BestFit()).problem(), "");
  const BestFit broken{{.gpu_milli = 0}};
  EXPECT_EQ(AnyScore(broken).problem(), broken.problem());
}

// Static and erased sums, and single policies behind AnyScore, over random clusters.
TEST(AnyScore, ScoresLikeWhatItHolds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 6);
    std::vector<ShapeSpec> requests;
    for (int i = 0; i < 10; ++i) requests.push_back(RandomShape(rng));
    const Fgd fgd = *Fgd::Build(TargetWorkload::FromRequests(requests), cluster.state);
    for (const ShapeSpec& request : requests) {
      const Shape shape = cluster.ShapeOf(request);
      std::vector<Candidate> candidates;
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        const NodeView node = cluster.state.node(slot);
        if (!Fits(node, shape)) continue;
        candidates.push_back({.slot = slot, .devices = RandomFittingDevices(rng, node, shape)});
      }
      const auto expect_same = [&](const auto& one, const auto& two) {
        ASSERT_EQ(Scores(one, cluster, shape, candidates, seed),
                  Scores(two, cluster, shape, candidates, seed));
      };
      expect_same(BestFit(), AnyScore(BestFit()));
      expect_same(fgd, AnyScore(fgd));
      expect_same(Random{seed}, AnyScore(Random{seed}));
      expect_same(0.8 * fgd + 0.2 * BestFit(), WeightedSum({{800, fgd}, {200, BestFit()}}));
      expect_same(GpuPacking() + 3 * WorstFit(),
                  WeightedSum({{1'000, GpuPacking()}, {3'000, WorstFit()}}));
      expect_same(0.3 * fgd + 0.5 * Random{seed} + GpuPacking(),
                  WeightedSum({{300, fgd}, {500, Random{seed}}, {1'000, GpuPacking()}}));
    }
  }
}

TEST(WeightedSum, SaysWhatItsTermsSay) {
  TestCluster cluster;
  const Fgd fgd = *Fgd::Build(
      *TargetWorkload::FromShapes({{.gpu_milli = 500, .gpu_count = 1, .models = {}, .count = 1}}),
      cluster.state);
  const WeightedSum sum({{500, fgd}, {500, Random()}});
  EXPECT_EQ(sum.range(), (ScoreRange{0, 10'000}));
  EXPECT_EQ(sum.reads(), Fgd::kReads | Random::kReads);
  EXPECT_EQ(sum.device_order(), DeviceOrder::kLowestIndex);
  EXPECT_EQ(sum.problem(), "");
  EXPECT_EQ(WeightedSum({{1'000, BestFit()}, {1'000, fgd}}).device_order(),
            DeviceOrder::kFullestFirst);
}

TEST(WeightedSum, BadWeightsAndBrokenTermsAreAProblem) {
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1'000'001}}) {
    EXPECT_NE(WeightedSum({{1'000, BestFit()}, {bad, WorstFit()}}).problem(), "") << bad;
  }
  const BestFit broken{{.gpu_milli = 0}};
  EXPECT_EQ(WeightedSum({{1'000, WorstFit()}, {1'000, broken}}).problem(), broken.problem());
}

TEST(WeightedSum, WrongWeightsAreAProblemAndDoNotOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const WeightedSum sum({{kHuge, BestFit()}, {kHuge, WorstFit()}});
  EXPECT_NE(sum.problem(), "");
}

// A term that leaves its declared range is not averaged away.
TEST(WeightedSum, ABrokenTermBreaksTheSum) {
  struct Liar {
    Reads reads() const { return Reads::kNothing; }
    static constexpr ScoreRange range() { return {0, 1}; }
    Score operator()(const NodeView&, const Shape&, DeviceMask) const { return 2; }
  };
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 1));
  const Shape shape = cluster.ShapeOf(ShareOf(500));
  const std::vector<Candidate> candidates = {{.slot = id.slot, .devices = DeviceMask::Of(0)}};
  EXPECT_EQ(Scores(0.1 * Liar() + BestFit(), cluster, shape, candidates)[0], Blend::kBroken);
  const WeightedSum erased({{100, Liar()}, {1000, BestFit()}});
  EXPECT_EQ(Scores(erased, cluster, shape, candidates)[0], Blend::kBroken);
  EXPECT_GT(Blend::kBroken, WeightedSum::range().hi);
}

TEST(ProblemOf, ARangeMustBeOneAndFit16Bits) {
  struct Wide {
    Reads reads() const { return Reads::kNothing; }
    ScoreRange declared;
    ScoreRange range() const { return declared; }
    Score operator()(const NodeView&, const Shape&, DeviceMask) const { return 0; }
  };
  EXPECT_EQ(ProblemOf(Wide{{-32768, 32767}}), "");
  EXPECT_NE(ProblemOf(Wide{{0, 32768}}), "");
  EXPECT_NE(ProblemOf(Wide{{5, -5}}), "");
  EXPECT_NE(AnyScore(Wide{{0, 1 << 30}}).problem(), "");
}

}  // namespace
}  // namespace gpusched
