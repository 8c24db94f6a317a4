// FirstFit: the first node in node order that fits.
#ifndef GPUSCHED_POLICY_SCORE_FIRST_FIT_H_
#define GPUSCHED_POLICY_SCORE_FIRST_FIT_H_

#include "gpusched/policy/concepts.h"

namespace gpusched {

// Scores every node the same, so the tie rule decides. A part of a device comes from the fullest
// device with room.
struct FirstFit {
  static constexpr Reads kReads = Reads::kNothing;
  static constexpr ScoreRange range() { return {0, 0}; }

  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return 0; }
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_FIRST_FIT_H_
