// GpuPacking: keep wholly free devices and idle nodes for those who need them.
#ifndef GPUSCHED_POLICY_SCORE_GPU_PACKING_H_
#define GPUSCHED_POLICY_SCORE_GPU_PACKING_H_

#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"

namespace gpusched {

// Weng et al., ATC 2023, section 6.1 (GpuPacking, after Gandiva/MLaaS practice). With F the wholly
// free devices before placement, all in integers:
//   all devices of the node free               max(33 − F, F)
//   k > 0 of the devices to take wholly free   max(50 − k, 33)
//   only devices in use                        max(100 − (Σ left·100/1000)/10, 50)
// where the devices with least left that fit are taken, left is what they have free before
// placement, and each division rounds down. Tasks without GPU score 0. Range [0, 100].
//
// The paper's words leave open which devices count as taken, that F is counted before placement,
// and that tasks without GPU score 0; these choices reproduce its published table (docs/fill.md).
struct GPUSCHED_EXPORT GpuPacking {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 100}; }

  Score operator()(const NodeView& node, const Shape& shape, DeviceMask devices) const;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_GPU_PACKING_H_
