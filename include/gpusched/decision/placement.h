// Placement: where one task goes.
#ifndef GPUSCHED_DECISION_PLACEMENT_H_
#define GPUSCHED_DECISION_PLACEMENT_H_

#include "gpusched/base/device_mask.h"
#include "gpusched/base/id.h"

namespace gpusched {

// A node, and which of its devices. How much is taken of each follows from the task's shape:
// its share of the one device, or the whole of each. Empty devices: a task without GPU.
struct Placement {
  NodeId node;
  DeviceMask devices;

  friend constexpr bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_PLACEMENT_H_
