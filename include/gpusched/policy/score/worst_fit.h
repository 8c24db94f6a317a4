// WorstFit: the node that is emptiest afterwards, to spread load.
#ifndef GPUSCHED_POLICY_SCORE_WORST_FIT_H_
#define GPUSCHED_POLICY_SCORE_WORST_FIT_H_

#include <string_view>

#include "gpusched/policy/score/norms.h"

namespace gpusched {

// ⌊100 · (cpu_left/N_cpu + gpu_left/N_gpu)/2⌋, left = after placement: BestFit turned round.
// Range [0, 100].
struct WorstFit {
  ScoreNorms norms;

  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 100}; }
  constexpr std::string_view problem() const { return norms.problem(); }

  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    const MachineShare empty = EmptyAfter(node, shape, choice, norms);
    return SaturatingRatio(100 * empty.part, empty.whole, range());
  }
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_WORST_FIT_H_
