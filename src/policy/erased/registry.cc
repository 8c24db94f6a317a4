#include "gpusched/policy/erased/registry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/dot_product.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/gpu_clustering.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/mig_start.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/worst_fit.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {

ScoreRegistry ScoreRegistry::BuiltIn() {
  ScoreRegistry registry;
  const auto add = [&](std::string name, Factory factory) {
    registry.factories_.emplace_back(std::move(name), std::move(factory));
  };
  using P = const ScoreParameters&;
  using Built = absl::StatusOr<AnyScore>;
  add("fgd", [](P p, ClusterState& state) -> Built {
    auto fgd = Fgd::Build(p.target, state);
    if (!fgd.ok()) return fgd.status();
    return AnyScore(*std::move(fgd));
  });
  add("best_fit", [](P p, ClusterState&) -> Built { return AnyScore(BestFit{p.norms}); });
  add("first_fit", [](P, ClusterState&) -> Built { return AnyScore(FirstFit{}); });
  add("worst_fit", [](P p, ClusterState&) -> Built { return AnyScore(WorstFit{p.norms}); });
  add("dot_product", [](P p, ClusterState&) -> Built { return AnyScore(DotProduct{p.norms}); });
  add("gpu_packing", [](P, ClusterState&) -> Built { return AnyScore(GpuPacking{}); });
  add("gpu_clustering",
      [](P p, ClusterState&) -> Built { return AnyScore(GpuClustering{p.norms}); });
  add("mig_start", [](P, ClusterState&) -> Built { return AnyScore(MigStart{}); });
  add("random", [](P p, ClusterState&) -> Built { return AnyScore(Random{p.seed}); });
  return registry;
}

absl::Status ScoreRegistry::Register(std::string name, Factory factory) {
  if (name.empty()) return InvalidField("policy", "name", "''", "give it a unique name");
  for (const auto& [taken, unused] : factories_) {
    if (taken == name) {
      return FieldError(absl::StatusCode::kAlreadyExists, "policy", "name", Quoted(name),
                        "a policy of this name is registered; use another");
    }
  }
  factories_.emplace_back(std::move(name), std::move(factory));
  return absl::OkStatus();
}

absl::StatusOr<AnyScore> ScoreRegistry::Build(std::string_view name,
                                              const ScoreParameters& parameters,
                                              ClusterState& state) const {
  for (const auto& [known, factory] : factories_) {
    if (known != name) continue;
    absl::StatusOr<AnyScore> score = factory(parameters, state);
    if (score.ok() && !score->problem().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy '", known, "': ", std::string(score->problem())));
    }
    return score;
  }
  return FieldError(absl::StatusCode::kNotFound, "policy", "name", Quoted(name),
                    absl::StrCat("known are ", absl::StrJoin(names(), ", ")));
}

std::vector<std::string> ScoreRegistry::names() const {
  std::vector<std::string> names;
  names.reserve(factories_.size());
  for (const auto& [name, unused] : factories_) names.push_back(name);
  return names;
}

}  // namespace gpusched
