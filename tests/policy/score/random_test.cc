#include "gpusched/policy/score/random.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/state/state_view.h"

namespace gpusched {
namespace {

// Candidates as the scan offers them: node by node, one a device.
const std::vector<Candidate> kCandidates = {
    {.slot = 4, .devices = DeviceMask::Of(0)}, {.slot = 7, .devices = DeviceMask::Of(0)},
    {.slot = 7, .devices = DeviceMask::Of(2)}, {.slot = 7, .devices = DeviceMask::Of(3)},
    {.slot = 2, .devices = DeviceMask::Of(1)}, {.slot = 2, .devices = DeviceMask::Of(5)}};

// The index of the one candidate that is drawn.
std::size_t Draw(std::uint64_t seed, std::uint64_t sequence,
                 const std::vector<Candidate>& candidates = kCandidates) {
  static const ClusterState state;
  static const Shape shape = {.gpu_milli = 500, .gpu_count = 1};
  std::vector<Score> scores(candidates.size(), 77);
  const StateView view(state);
  Random{seed}.ScoreBatch(
      {.view = view, .shape = shape, .sequence = sequence, .candidates = candidates},
      std::span<Score>(scores));
  std::size_t drawn = candidates.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_TRUE(scores[i] == 0 || scores[i] == 1);
    if (scores[i] == 1) {
      EXPECT_EQ(drawn, candidates.size()) << "two candidates were drawn";
      drawn = i;
    }
  }
  EXPECT_LT(drawn, candidates.size()) << "none was drawn";
  return drawn;
}

TEST(Random, EachNodeHasTheSameChanceAndOnItEachDevice) {
  std::vector<int> counts(kCandidates.size(), 0);
  constexpr int kDraws = 36'000;
  for (std::uint64_t sequence = 0; sequence < kDraws; ++sequence) ++counts[Draw(1, sequence)];
  // Six standard deviations are 540 for a third, 310 for a ninth, 400 for a sixth.
  EXPECT_NEAR(counts[0], kDraws / 3, 540);
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_NEAR(counts[i], kDraws / 9, 360);
  for (const std::size_t i : {4U, 5U}) EXPECT_NEAR(counts[i], kDraws / 6, 430);
}

TEST(Random, NodesAreUniformByChiSquare) {
  std::vector<Candidate> candidates;
  for (std::uint32_t slot = 0; slot < 50; ++slot)
    candidates.push_back({.slot = slot, .devices = {}});
  std::vector<int> counts(candidates.size(), 0);
  constexpr int kDraws = 50'000;
  for (std::uint64_t sequence = 0; sequence < kDraws; ++sequence) {
    ++counts[Draw(42, sequence, candidates)];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 1'000.0) * (count - 1'000.0) / 1'000.0;
  EXPECT_LT(chi_square, 110);  // 49 degrees of freedom: exceeded once in 10^6
  EXPECT_GT(chi_square, 15);   // too even would be as odd
}

TEST(Random, OneDrawTellsNothingOfTheNext) {
  std::map<std::pair<std::size_t, std::size_t>, int> pairs;
  const std::vector<Candidate> three = {
      {.slot = 0, .devices = {}}, {.slot = 1, .devices = {}}, {.slot = 2, .devices = {}}};
  for (std::uint64_t sequence = 0; sequence < 18'000; ++sequence) {
    ++pairs[{Draw(5, sequence, three), Draw(5, sequence + 1, three)}];
  }
  ASSERT_EQ(pairs.size(), 9U);
  for (const auto& [pair, count] : pairs) EXPECT_NEAR(count, 2'000, 300);
}

TEST(Random, DependsOnSeedAndSequenceOnly) {
  std::vector<std::size_t> one, again, other_seed;
  for (std::uint64_t sequence = 0; sequence < 50; ++sequence) {
    one.push_back(Draw(1, sequence));
    again.push_back(Draw(1, sequence));
    other_seed.push_back(Draw(2, sequence));
  }
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other_seed);
}

TEST(Random, CopesWithNoneAndOne) {
  const ClusterState state;
  const Shape shape;
  const StateView view(state);
  Random().ScoreBatch({.view = view, .shape = shape, .candidates = {}}, {});
  EXPECT_EQ(Draw(9, 9, {{.slot = 3, .devices = {}}}), 0U);
}

}  // namespace
}  // namespace gpusched
