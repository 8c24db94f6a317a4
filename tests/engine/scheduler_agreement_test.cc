// A scheduler over concrete types and one over erased policies decide the same, always.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/dot_product.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/gpu_clustering.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/weighted.h"
#include "gpusched/policy/score/worst_fit.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

constexpr std::uint64_t kSeeds = 60;

std::vector<ShapeSpec> Requests(std::uint64_t seed) {
  Rng rng(seed + 1'000);
  std::vector<ShapeSpec> requests;
  for (int i = 0; i < 40; ++i) requests.push_back(RandomShape(rng));
  return requests;
}

void ExpectEqual(const absl::StatusOr<Decision>& one, const absl::StatusOr<Decision>& two) {
  ASSERT_EQ(one.status(), two.status());
  if (!one.ok()) return;
  ASSERT_EQ(one->kind, two->kind);
  ASSERT_EQ(one->shape, two->shape);
  ASSERT_EQ(one->placement, two->placement);
  ASSERT_EQ(one->score, two->score);
  ASSERT_EQ(one->refusal.nodes_by_reason, two->refusal.nodes_by_reason);
  ASSERT_EQ(one->refusal.nearest, two->refusal.nearest);
  ASSERT_EQ(one->refusal.shortfall.need, two->refusal.shortfall.need);
}

// Runs the same arrivals and departures through both; `make` builds each policy for its state.
template <class MakeStatic, class MakeErased>
void ExpectSameDecisions(MakeStatic make_static, MakeErased make_erased) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    TestCluster one;
    TestCluster two;
    for (TestCluster* cluster : {&one, &two}) {
      Rng rng(seed);
      FillRandomly(*cluster, rng, 10);
    }
    BasicScheduler concrete(one.state, make_static(one.state, seed));
    Scheduler erased(two.state, AnyScore(make_erased(two.state, seed)));
    Rng rng(seed + 2'000);
    std::vector<std::string> running;
    int number = 0;
    for (const ShapeSpec& request : Requests(seed)) {
      const std::string name = "a" + std::to_string(number++);
      const auto decision = concrete.Place(name, one.Intern(request));
      ExpectEqual(decision, erased.Place(name, two.Intern(request)));
      if (testing::Test::HasFatalFailure()) return;
      if (decision.ok() && decision->placed()) {
        running.push_back(name);
        ++placed;
      }
      if (running.empty() || !OneIn(rng, 3)) continue;
      const std::string gone = running[static_cast<std::size_t>(rng.Below(running.size()))];
      std::erase(running, gone);
      one.Release(*one.state.FindTask(gone));
      two.Release(*two.state.FindTask(gone));
    }
    ASSERT_EQ(one.hash(), two.hash()) << "seed " << seed;
  }
  EXPECT_GT(placed, 500);
}

Fgd MakeFgd(ClusterState& state, std::uint64_t seed) {
  return *Fgd::Build(TargetWorkload::FromRequests(Requests(seed)), state);
}

// The erased side comes from the registry, as it does for a caller that names a policy.
template <class MakeStatic>
void ExpectLikeRegistered(const std::string& name, MakeStatic make_static) {
  ExpectSameDecisions(make_static, [&](ClusterState& state, std::uint64_t seed) {
    return *ScoreRegistry::BuiltIn().Build(
        name, {.target = TargetWorkload::FromRequests(Requests(seed)), .seed = seed, .norms = {}},
        state);
  });
}

template <class P>
auto Always(P policy) {
  return [policy](ClusterState&, std::uint64_t) { return policy; };
}

TEST(SchedulerAgreement, Fgd) { ExpectLikeRegistered("fgd", MakeFgd); }
TEST(SchedulerAgreement, BestFit) { ExpectLikeRegistered("best_fit", Always(BestFit())); }
TEST(SchedulerAgreement, FirstFit) { ExpectLikeRegistered("first_fit", Always(FirstFit())); }
TEST(SchedulerAgreement, WorstFit) { ExpectLikeRegistered("worst_fit", Always(WorstFit())); }
TEST(SchedulerAgreement, DotProduct) { ExpectLikeRegistered("dot_product", Always(DotProduct())); }
TEST(SchedulerAgreement, GpuPacking) { ExpectLikeRegistered("gpu_packing", Always(GpuPacking())); }
TEST(SchedulerAgreement, GpuClustering) {
  ExpectLikeRegistered("gpu_clustering", Always(GpuClustering()));
}
TEST(SchedulerAgreement, MigStart) { ExpectLikeRegistered("mig_start", Always(MigStart())); }
TEST(SchedulerAgreement, Random) {
  ExpectLikeRegistered("random", [](ClusterState&, std::uint64_t seed) { return Random{seed}; });
}

TEST(SchedulerAgreement, AllBuiltInsAreAbove) {
  EXPECT_EQ(ScoreRegistry::BuiltIn().names().size(), 9U);
}

TEST(SchedulerAgreement, WeightedSums) {
  ExpectSameDecisions(
      [](ClusterState& state, std::uint64_t seed) {
        return 0.8 * MakeFgd(state, seed) + 0.2 * BestFit();
      },
      [](ClusterState& state, std::uint64_t seed) {
        return WeightedSum({{800, MakeFgd(state, seed)}, {200, BestFit()}});
      });
  ExpectSameDecisions(
      [](ClusterState&, std::uint64_t seed) { return GpuPacking() + 0.5 * Random{seed}; },
      [](ClusterState&, std::uint64_t seed) {
        return WeightedSum({{1'000, GpuPacking()}, {500, Random{seed}}});
      });
}

}  // namespace
}  // namespace gpusched
