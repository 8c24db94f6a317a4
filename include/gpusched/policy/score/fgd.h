// Fgd: fragmentation gradient descent: the placement that strands least idle GPU.
#ifndef GPUSCHED_POLICY_SCORE_FGD_H_
#define GPUSCHED_POLICY_SCORE_FGD_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/policy/score/fragmentation.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// ⌊100 · sigmoid((F_before − F_after)/1000)⌋ with F the fragment of the node in milli against a
// target workload (FragmentTable). A part of a device is tried on each device with room; the first
// best wins. Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
// Fragmentation Gradient Descent", USENIX ATC 2023, Algorithm 1, with the rounding of the authors'
// simulator: the coarse scale, and so the tie rule, is part of the policy (in exact terms it packs
// two points worse). F is exact in integers and the sigmoid is a table of thresholds, so every
// compiler gives the same answer. Range [0, 99].
class GPUSCHED_EXPORT Fgd {
 public:
  static constexpr Reads kReads = Reads::kNode | Reads::kDevice;
  static constexpr DeviceOrder kDeviceOrder = DeviceOrder::kLowestIndex;
  static constexpr ScoreRange range() { return {0, 99}; }

  // Measures against `target`; the result belongs to `state`, whose models it interns. Errors:
  // kInvalidArgument for an empty target, else as in FragmentTable::Build.
  static absl::StatusOr<Fgd> Build(const TargetWorkload& target, ClusterState& state);

  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const;

 private:
  explicit Fgd(FragmentTable table);

  FragmentTable table_;
  // Score s needs a gradient (× total weight, in nano-GPU) of at least thresholds_[s − 1].
  std::array<std::int64_t, 99> thresholds_{};
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_FGD_H_
