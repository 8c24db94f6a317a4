#include "gpusched/policy/erased/registry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/random.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

const ScoreRegistry::Factory kFirst = [](const ScoreParameters&, ClusterState&) {
  return absl::StatusOr<AnyScore>(AnyScore(Random()));
};

TEST(ScoreRegistry, BuiltInNames) {
  EXPECT_EQ(ScoreRegistry::BuiltIn().names(),
            (std::vector<std::string>{"fgd", "best_fit", "first_fit", "worst_fit", "dot_product",
                                      "gpu_packing", "gpu_clustering", "mig_start", "random"}));
}

TEST(ScoreRegistry, BuildsEachBuiltInByName) {
  TestCluster cluster;
  const ScoreRegistry registry = ScoreRegistry::BuiltIn();
  const std::vector<ShapeSpec> requests = {ShareOf(500)};
  const ScoreParameters parameters{.target = TargetWorkload::FromRequests(requests), .norms = {}};
  for (const std::string& name : registry.names()) {
    const auto score = registry.Build(name, parameters, cluster.state);
    ASSERT_TRUE(score.ok()) << name << ": " << score.status().ToString();
    EXPECT_EQ(score->problem(), "") << name;
  }
  EXPECT_EQ(registry.Build("fgd", parameters, cluster.state)->range(), Fgd::range());
  EXPECT_EQ(registry.Build("random", {}, cluster.state)->reads(), Random::kReads);
}

TEST(ScoreRegistry, PassesParametersOn) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));
  const Shape shape = cluster.ShapeOf(WholeGpus(1, 4'000));
  const ScoreParameters parameters{.target = {},
                                   .norms = {.cpu_milli = 96'000, .gpu_milli = 8'000}};
  const auto score = ScoreRegistry::BuiltIn().Build("best_fit", parameters, cluster.state);
  ASSERT_TRUE(score.ok());
  const std::vector<Candidate> candidates = {{.slot = id.slot, .devices = DeviceMask::Of(0)}};
  const StateView view(cluster.state);
  Score out = -1;
  score->ScoreBatch({.view = view, .shape = shape, .candidates = candidates}, {&out, 1});
  EXPECT_EQ(out, 8);  // 100 · (1 − (92/96 + 7/8)/2)
}

TEST(ScoreRegistry, AnUnknownNameListsTheKnown) {
  TestCluster cluster;
  EXPECT_TRUE(Refused(ScoreRegistry::BuiltIn().Build("bestfit", {}, cluster.state), Code::kNotFound,
                      {"'bestfit'", "known are fgd, best_fit", "random"}));
}

TEST(ScoreRegistry, RefusesWhatThePolicyFindsWrong) {
  TestCluster cluster;
  const ScoreParameters bad_norms{.target = {}, .norms = {.cpu_milli = 0}};
  EXPECT_TRUE(Refused(ScoreRegistry::BuiltIn().Build("worst_fit", bad_norms, cluster.state),
                      Code::kInvalidArgument, {"'worst_fit'", "norms.cpu_milli"}));
  const auto target =
      TargetWorkload::FromShapes({{.gpu_milli = 1, .gpu_count = 1, .models = {"T44"}, .count = 1}});
  ASSERT_TRUE(target.ok());
  EXPECT_TRUE(Refused(
      ScoreRegistry::BuiltIn().Build("fgd", {.target = *target, .norms = {}}, cluster.state),
      Code::kInvalidArgument, {"'T44'"}));
}

TEST(ScoreRegistry, NamesAreUniqueAndNotEmpty) {
  ScoreRegistry registry;
  EXPECT_TRUE(registry.names().empty());
  EXPECT_TRUE(IsOk(registry.Register("mine", kFirst)));
  EXPECT_TRUE(Refused(registry.Register("mine", kFirst), Code::kAlreadyExists, {"'mine'"}));
  EXPECT_TRUE(Refused(registry.Register("", kFirst), Code::kInvalidArgument, {"name"}));
  EXPECT_EQ(registry.names(), std::vector<std::string>{"mine"});
  TestCluster cluster;
  EXPECT_TRUE(registry.Build("mine", {}, cluster.state).ok());
  ScoreRegistry built_in = ScoreRegistry::BuiltIn();
  EXPECT_TRUE(Refused(built_in.Register("fgd", kFirst), Code::kAlreadyExists));
}

}  // namespace
}  // namespace gpusched
