#include "gpusched/policy/score/score_all.h"

#include <gtest/gtest.h>

#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/score/best_fit.h"

namespace gpusched {
namespace {

// A batch score that numbers its candidates.
struct Numbered {
  static constexpr Reads kReads = Reads::kCluster;
  static constexpr ScoreRange range() { return {0, 100}; }
  void ScoreBatch(const Batch& batch, std::span<Score> out) const {
    for (std::size_t i = 0; i < batch.candidates.size(); ++i) out[i] = static_cast<Score>(i + 1);
  }
};

TEST(ScoreAll, AsksEitherKindForEveryCandidate) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 1));
  const NodeId b = cluster.AddNode(GpuNode("b", 8));
  const Shape shape = cluster.ShapeOf(WholeGpus(1));
  const std::vector<Candidate> candidates = {{.slot = b.slot, .devices = DeviceMask::Of(0)},
                                             {.slot = a.slot, .devices = DeviceMask::Of(0)}};
  const StateView view(cluster.state);
  const Batch batch{.view = view, .shape = shape, .candidates = candidates};
  std::vector<Score> scores(2);
  ScoreAll(BestFit(), batch, std::span<Score>(scores));
  EXPECT_EQ(scores[0], BestFit()(cluster.node(b), shape, {}));
  EXPECT_EQ(scores[1], BestFit()(cluster.node(a), shape, {}));
  EXPECT_NE(scores[0], scores[1]);
  ScoreAll(Numbered(), batch, std::span<Score>(scores));
  EXPECT_EQ(scores, (std::vector<Score>{1, 2}));
}

}  // namespace
}  // namespace gpusched
