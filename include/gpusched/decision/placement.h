// Placement: where one task goes.
#ifndef GPUSCHED_DECISION_PLACEMENT_H_
#define GPUSCHED_DECISION_PLACEMENT_H_

#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/id.h"
#include "gpusched/spec/mig_instance.h"

namespace gpusched {

// A node, which of its devices, and of these which MIG instances, by device and start, if the task
// has any. How much is taken of each follows from the task's shape and the device
// (docs/devices.md). Empty devices: a task without GPU.
struct Placement {
  NodeId node;
  DeviceMask devices;
  std::vector<MigInstance> instances = {};

  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_PLACEMENT_H_
