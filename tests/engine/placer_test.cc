#include "gpusched/engine/placer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "cluster_fixture.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/worst_fit.h"
#include "job_specs.h"
#include "random_cluster.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

struct NotNode {
  std::uint32_t slot = 0;
  Shortfall operator()(const NodeView& node, const Shape&) const {
    if (node.slot() != slot) return {};
    return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
  }
};

struct OutOfRange {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {-5, 5}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return -6; }
};

TEST(Placer, FindsTheBestNodeByItsScore) {
  TestCluster cluster;
  const NodeId large = cluster.AddNode(GpuNode("large", 8));
  const NodeId small = cluster.AddNode(GpuNode("small", 2));
  const Shape shape = cluster.ShapeOf(WholeGpus(1));
  BasicPlacer<BestFit> best{BestFit{}};
  BasicPlacer<WorstFit> worst{WorstFit{}};
  EXPECT_EQ(best.Find(cluster.state, shape, 0, JobFilter())->candidate.slot, small.slot);
  EXPECT_EQ(worst.Find(cluster.state, shape, 0, JobFilter())->candidate.slot, large.slot);
}

TEST(Placer, FindsNothingWhereNothingFits) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  const Shape shape = cluster.ShapeOf(WholeGpus(2));
  BasicPlacer<FirstFit> placer{FirstFit{}};
  EXPECT_FALSE(placer.Find(cluster.state, shape, 0, JobFilter())->found);
  const Refusal refusal = placer.Explain(cluster.state, shape, JobFilter());
  EXPECT_EQ(refusal.outcome, Outcome::kNever);
  EXPECT_EQ(refusal.dominant(), Reason::kTooFewWholeDevices);
}

TEST(Placer, AsksTheJobsFilterAndItsOwn) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 1));
  const NodeId b = cluster.AddNode(GpuNode("b", 1));
  const NodeId c = cluster.AddNode(GpuNode("c", 1));
  const Shape shape = cluster.ShapeOf(WholeGpus(1));
  BasicPlacer placer(FirstFit{}, Filters<NotNode>(NotNode{a.slot}));
  EXPECT_EQ(placer.Find(cluster.state, shape, 0, JobFilter())->candidate.slot, b.slot);
  JobFilter filter;
  std::array<std::uint32_t, 2> out = {b.slot, c.slot};
  filter.Exclude({out.data(), 1});
  EXPECT_EQ(placer.Find(cluster.state, shape, 0, filter)->candidate.slot, c.slot);
  filter.Exclude(out);
  EXPECT_FALSE(placer.Find(cluster.state, shape, 0, filter)->found);
}

TEST(Placer, ExplainCountsTheRefusalsOfBoth) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 1));
  cluster.AddNode(GpuNode("b", 1));
  JobSpec spec = Gang("j", 2, WholeGpus(1));
  spec.affinity = {{.key = "k", .value = "v"}};
  JobId job;
  {
    Transaction transaction(cluster.state);
    job = *transaction.AddJob(spec, 0);
    transaction.Commit();
  }
  const BasicPlacer placer(FirstFit{}, Filters<NotNode>(NotNode{a.slot}));
  const Refusal refusal = placer.Explain(cluster.state, cluster.ShapeOf(WholeGpus(1)),
                                         JobFilter(cluster.state, job, 0));
  EXPECT_EQ(refusal.count(Reason::kAffinity), 2U);
  EXPECT_EQ(refusal.count(Reason::kFilteredByUser), 1U);
  EXPECT_EQ(refusal.dominant(), Reason::kAffinity);
  EXPECT_EQ(cluster.state.node_name(refusal.nearest), "b");
}

TEST(Placer, AScoreOutsideItsRangeIsAnError) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  BasicPlacer placer{OutOfRange{}};
  EXPECT_TRUE(Refused(placer.Find(cluster.state, cluster.ShapeOf(WholeGpus(1)), 0, JobFilter()),
                      Code::kInternal, {"'a'", "-6", "-5 to 5"}));
}

TEST(Placer, APolicyWithWrongParametersIsAnError) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  BasicPlacer placer{WorstFit{.norms = {.cpu_milli = 0, .gpu_milli = 1}}};
  EXPECT_TRUE(Refused(placer.Find(cluster.state, cluster.ShapeOf(WholeGpus(1)), 0, JobFilter()),
                      Code::kInvalidArgument, {"cpu_milli"}));
}

TEST(Placer, ACopyFindsTheSame) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 8);
    BasicPlacer<Random> placer{Random{.seed = seed}};
    const std::unique_ptr<Placer> copy = placer.Clone();
    for (std::uint64_t sequence = 0; sequence < 20; ++sequence) {
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      const SearchResult a = *placer.Find(cluster.state, shape, sequence, JobFilter());
      const SearchResult b = *copy->Find(cluster.state, shape, sequence, JobFilter());
      ASSERT_EQ(a.found, b.found);
      if (!a.found) continue;
      ASSERT_EQ(a.candidate.slot, b.candidate.slot);
      ASSERT_EQ(a.candidate.devices, b.candidate.devices);
    }
  }
}

// What Explain says and what Find does are the same thing.
TEST(Placer, ExplainsExactlyWhatItDoesNotFind) {
  int found = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 4);
    BasicPlacer placer(BestFit{}, Filters<NotNode>(NotNode{1}));
    for (int i = 0; i < 10; ++i) {
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      const bool fits = placer.Find(cluster.state, shape, 0, JobFilter())->found;
      if (!fits) {
        const Refusal refusal = placer.Explain(cluster.state, shape, JobFilter());
        ASSERT_NE(refusal.dominant(), Reason::kNone) << "seed " << seed;
      }
      ++(fits ? found : refused);
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace gpusched
