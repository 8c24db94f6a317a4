// DeviceGrant: how a task has the devices that it is given.
#ifndef GPUSCHED_DECISION_DEVICE_GRANT_H_
#define GPUSCHED_DECISION_DEVICE_GRANT_H_

#include <cstdint>
#include <vector>

#include "gpusched/spec/mig_instance.h"
#include "gpusched/spec/sharing_mode.h"

namespace gpusched {

// The same on each device, or for each MIG instance. A task without GPU has none of it.
struct DeviceGrant {
  SharingMode mode = SharingMode::kExclusive;
  std::int64_t gpu_milli = 0;    // of replicas and instances: rounded down
  std::int64_t gpu_mem_mib = 0;  // claimed, or that of the instance; 0: nothing is claimed
  std::vector<MigInstance> instances = {};  // mode kMig: as many as are asked, by device and start

  friend bool operator==(const DeviceGrant&, const DeviceGrant&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_DEVICE_GRANT_H_
