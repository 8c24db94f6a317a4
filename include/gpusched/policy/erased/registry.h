// ScoreRegistry: placement policies by name.
#ifndef GPUSCHED_POLICY_ERASED_REGISTRY_H_
#define GPUSCHED_POLICY_ERASED_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/score/norms.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// What a policy may need to be built; each takes what it needs.
struct ScoreParameters {
  TargetWorkload target;   // fgd
  std::uint64_t seed = 0;  // random
  ScoreNorms norms;        // best_fit, worst_fit, dot_product, gpu_clustering
};

// An explicit object rather than static registration: no order-of-initialisation surprises, and a
// test can have its own.
class GPUSCHED_EXPORT ScoreRegistry {
 public:
  using Factory = std::function<absl::StatusOr<AnyScore>(const ScoreParameters&, ClusterState&)>;

  // fgd best_fit first_fit worst_fit dot_product gpu_packing gpu_clustering random.
  static ScoreRegistry BuiltIn();

  // Errors: kAlreadyExists if the name is taken, kInvalidArgument if it is empty.
  absl::Status Register(std::string name, Factory factory);

  // Builds the policy for one state. Errors: kNotFound naming the known ones, or what the policy
  // finds wrong with its parameters.
  absl::StatusOr<AnyScore> Build(std::string_view name, const ScoreParameters& parameters,
                                 ClusterState& state) const;

  // In order of registration.
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, Factory>> factories_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_ERASED_REGISTRY_H_
