// MigStart: the place that keeps the most valuable MIG instances possible.
#ifndef GPUSCHED_POLICY_SCORE_MIG_START_H_
#define GPUSCHED_POLICY_SCORE_MIG_START_H_

#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"

namespace gpusched {

// ⌊10000 · (1 − lost/whole)⌋: how much of what the taken devices' slices are good for when empty
// (MigGeometry::Value, the most valuable profile first) is not lost by placing the task there
// (SliceLoss). On an empty A100-40GB a 3g.20gb goes to start 4, so that 4g.20gb stays possible, and
// a 1g.5gb to 6; a device that is broken already comes before one that is whole; a task that asks
// no instance keeps off devices that could have some. 10000 where nothing can be lost. Range [0,
// 10000].
struct GPUSCHED_EXPORT MigStart {
  static constexpr Reads kReads = Reads::kNode | Reads::kDevice;
  static constexpr ScoreRange range() { return {0, 10'000}; }

  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_MIG_START_H_
