// Fgd: fragmentation gradient descent: the placement that strands least idle GPU.
#ifndef GPUSCHED_POLICY_SCORE_FGD_H_
#define GPUSCHED_POLICY_SCORE_FGD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/policy/score/fragmentation.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

class RowScorer;

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

  // Scores many shapes at about the cost of one.
  std::unique_ptr<RowScorer> Rows() const;

  const FragmentTable& table() const { return table_; }
  // The score of a gradient F_before − F_after of one node, × the target's total weight.
  Score Rank(std::int64_t gradient) const {
    const std::uint8_t least = least_[static_cast<std::size_t>(gradient - lowest_) >> shift_];
    return static_cast<Score>(least + (gradient >= thresholds_[least] ? 1 : 0));
  }

 private:
  explicit Fgd(FragmentTable table);

  FragmentTable table_;
  static constexpr std::size_t kThresholds = 99;
  // Score s needs a gradient of at least thresholds_[s − 1]; one more, which none reaches.
  std::array<std::int64_t, kThresholds + 1> thresholds_{};
  // By gradient from the lowest that there can be on, in steps that hold at most one further
  // threshold each: the score at the beginning of the step.
  std::int64_t lowest_ = 0;
  unsigned shift_ = 0;
  std::vector<std::uint8_t> least_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_FGD_H_
