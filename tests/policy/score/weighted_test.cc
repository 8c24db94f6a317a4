#include "gpusched/policy/score/weighted.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/quantity.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/worst_fit.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

// A score of any declared range that reads its value from outside.
struct Dial {
  ScoreRange declared;
  const Score* value = nullptr;
  static constexpr Reads kReads = Reads::kNothing;
  ScoreRange range() const { return declared; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return *value; }
};

class WeightedTest : public testing::Test {
 protected:
  template <class P>
  Score Of(const P& policy) {
    return policy(cluster.node(id), shape, {});
  }

  TestCluster cluster;
  NodeId id = cluster.AddNode(GpuNode("n", 8));
  Shape shape = cluster.ShapeOf(WholeGpus(1, 4'000));
};

TEST_F(WeightedTest, WorkedNumbers) {
  // BestFit says 20 and WorstFit 79, both of 0 to 100.
  EXPECT_EQ(Of(1.0 * BestFit()), 2'000);
  EXPECT_EQ(Of(0.8 * BestFit() + 0.2 * WorstFit()), 1'600 + 1'580);
  EXPECT_EQ(Of(BestFit() + WorstFit()), 1'000 + 3'950);
  EXPECT_EQ(Of(8 * BestFit() + 2 * WorstFit()), 3'180) << "only ratios of weights matter";
  EXPECT_EQ(Of(FirstFit() + WorstFit()), 3'950) << "a range of one value adds nothing";
}

TEST_F(WeightedTest, SumsAreFlattenedSoThatRoundingHappensOnce) {
  const auto nested = 0.5 * (BestFit() + WorstFit()) + GpuPacking();
  const Weighted<BestFit, WorstFit, GpuPacking> flat({}, {500, 500, 1'000});
  static_assert(
      std::is_same_v<decltype(nested), decltype(flat)> ||
      std::is_same_v<std::remove_const_t<decltype(nested)>, std::remove_const_t<decltype(flat)>>);
  EXPECT_EQ(nested.weights(), flat.weights());
  EXPECT_EQ(Of(nested), Of(flat));
  const auto right = GpuPacking() + 2.0 * (BestFit() + 0.25 * WorstFit());
  EXPECT_EQ(right.weights(), (std::array<std::int64_t, 3>{1'000, 2'000, 500}));
}

// The rule of Blend in 128 bits, from its definition.
Score Oracle(const std::vector<std::int64_t>& weights, const std::vector<ScoreRange>& ranges,
             const std::vector<Score>& scores) {
  Wide sum_of_weights = 0;
  for (const std::int64_t weight : weights) sum_of_weights += weight;
  Wide sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide width = Wide{ranges[i].hi} - ranges[i].lo;
    if (width == 0) continue;
    const Wide factor = Wide{weights[i]} * 10'000 * (Wide{1} << 32) / (sum_of_weights * width);
    sum += factor * (scores[i] - ranges[i].lo);
  }
  return static_cast<Score>((2 * sum + (Wide{1} << 32)) / (Wide{1} << 33));
}

TEST_F(WeightedTest, AgreesWithTheRuleIn128Bits) {
  Rng rng(1);
  const StateView view(cluster.state);
  const std::vector<Candidate> candidates = {{.slot = id.slot, .devices = {}}};
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::int64_t> weights;
    std::vector<ScoreRange> ranges;
    std::vector<Score> scores;
    for (int i = 0; i < 3; ++i) {
      weights.push_back(1 + (IntBelow(rng, Blend::kMaxWeightMilli) >> rng.Below(20)));
      const auto lo = static_cast<Score>(IntBelow(rng, 65'536) - 32'768);
      const auto width = static_cast<Score>(IntBelow(rng, 32'768 - lo) >> rng.Below(16));
      ranges.push_back({.lo = lo, .hi = lo + width});
      scores.push_back(lo + static_cast<Score>(IntBelow(rng, width + 1)));
    }
    const Dial a{ranges[0], &scores[0]}, b{ranges[1], &scores[1]}, c{ranges[2], &scores[2]};
    const Weighted<Dial, Dial, Dial> sum({a, b, c}, {weights[0], weights[1], weights[2]});
    const Score expected = Oracle(weights, ranges, scores);
    ASSERT_EQ(Of(sum), expected);
    ASSERT_GE(expected, 0);
    ASSERT_LE(expected, 10'000);
    const WeightedSum erased({{weights[0], a}, {weights[1], b}, {weights[2], c}});
    Score out = -1;
    erased.ScoreBatch({.view = view, .shape = shape, .candidates = candidates}, {&out, 1});
    ASSERT_EQ(out, expected) << "the erased form has the same rule";
  }
}

TEST_F(WeightedTest, AloneAScoreKeepsItsOrderAndReachesBothEnds) {
  for (const ScoreRange range : {ScoreRange{0, 1}, {0, 99}, {0, 100}, {-7, 3}, {0, 10'000}}) {
    Score value = range.lo;
    const auto alone = 0.3 * Dial{range, &value};
    Score before = Of(alone);
    EXPECT_EQ(before, 0);
    for (value = range.lo + 1; value <= range.hi; ++value) {
      const Score after = Of(alone);
      ASSERT_LT(before, after) << "of " << value << " in " << range.lo << " to " << range.hi;
      before = after;
    }
    EXPECT_EQ(before, 10'000);
  }
}

TEST_F(WeightedTest, BadWeightsAreAProblem) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ((0.5 * BestFit()).problem(), "");
  EXPECT_EQ((1000 * BestFit() + 0.001 * WorstFit()).problem(), "");
  for (const double bad : {0.0, -1.0, 0.0001, 1000.5, kNan}) {
    EXPECT_NE((bad * BestFit()).problem(), "") << bad;
    EXPECT_NE((BestFit() + bad * WorstFit()).problem(), "") << bad;
    EXPECT_NE((bad * (BestFit() + WorstFit())).problem(), "") << bad;
  }
  EXPECT_NE((0.001 * (0.001 * BestFit())).problem(), "") << "below the resolution together";
  EXPECT_NE((1000 * (1000 * BestFit())).problem(), "");
}

TEST_F(WeightedTest, ATermsProblemIsTheSums) {
  const BestFit broken{{.cpu_milli = 0}};
  EXPECT_EQ((WorstFit() + broken).problem(), broken.problem());
  EXPECT_EQ(ProblemOf(0.5 * (WorstFit() + broken)), broken.problem());
}

TEST_F(WeightedTest, ReadsAllAndOrdersDevicesByTheFirstTerm) {
  const Fgd fgd = *Fgd::Build(
      *TargetWorkload::FromShapes({{.gpu_milli = 500, .gpu_count = 1, .models = {}, .count = 1}}),
      cluster.state);
  EXPECT_EQ((BestFit() + fgd).reads(), Reads::kNode | Reads::kDevice);
  EXPECT_EQ((BestFit() + fgd).device_order(), DeviceOrder::kFullestFirst);
  EXPECT_EQ((fgd + BestFit()).device_order(), DeviceOrder::kLowestIndex);
  EXPECT_TRUE(Includes((BestFit() + Random()).reads(), Reads::kSequence));
}

TEST(Weighted, ABatchScoreAmongTheTermsMakesABatchScore) {
  TestCluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.AddNode(GpuNode(name, 8));
  cluster.Place("t", WholeGpus(8), *cluster.state.FindNode("b"), DeviceMask(0xff));
  const Shape shape = cluster.ShapeOf(CpuTask(1'000));
  std::vector<Candidate> candidates;
  for (const std::uint32_t slot : cluster.state.nodes().order()) {
    candidates.push_back({.slot = slot, .devices = {}});
  }
  const StateView view(cluster.state);
  const Batch batch{.view = view, .shape = shape, .sequence = 3, .candidates = candidates};
  std::vector<Score> sum(3), drawn(3);
  (BestFit() + Random{.seed = 5}).ScoreBatch(batch, std::span<Score>(sum));
  Random{.seed = 5}.ScoreBatch(batch, std::span<Score>(drawn));
  for (std::size_t i = 0; i < 3; ++i) {
    const Score best_fit = BestFit()(view.node(candidates[i].slot), shape, {});
    EXPECT_EQ(sum[i], Oracle({1, 1}, {{0, 100}, {0, 1}}, {best_fit, drawn[i]}));
  }
}

}  // namespace
}  // namespace gpusched
