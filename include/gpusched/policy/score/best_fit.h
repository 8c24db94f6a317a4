// BestFit: the node that is fullest afterwards.
#ifndef GPUSCHED_POLICY_SCORE_BEST_FIT_H_
#define GPUSCHED_POLICY_SCORE_BEST_FIT_H_

#include <memory>
#include <string_view>

#include "gpusched/export.h"
#include "gpusched/policy/score/norms.h"

namespace gpusched {

class RowScorer;

// ⌊100 · (1 − (cpu_left/N_cpu + gpu_left/N_gpu)/2)⌋, left = after placement, GPU summed over
// devices; exact in integers. Weng et al., ATC 2023, section 6.1 (BestFit). Range [0, 100].
struct BestFit {
  ScoreNorms norms;

  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 100}; }
  constexpr std::string_view problem() const { return norms.problem(); }

  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    const MachineShare empty = EmptyAfter(node, shape, choice, norms);
    return SaturatingRatio(100 * (empty.whole - empty.part), empty.whole, range());
  }

  // Scores many shapes at about the cost of one.
  GPUSCHED_EXPORT std::unique_ptr<RowScorer> Rows() const;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_BEST_FIT_H_
