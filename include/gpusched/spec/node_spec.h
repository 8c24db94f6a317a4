// NodeSpec: a machine as its owner describes it.
#ifndef GPUSCHED_SPEC_NODE_SPEC_H_
#define GPUSCHED_SPEC_NODE_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpusched/base/quantity.h"
#include "gpusched/spec/mig_instance.h"
#include "gpusched/spec/sharing_mode.h"

namespace gpusched {

// Most replicas of one device that MPS or time-slicing may offer.
inline constexpr std::int64_t kMaxReplicas = kMilli;

// One accelerator. `model` is a name of the catalogue or one declared opaque. What each way to
// share a device means is in docs/devices.md.
struct DeviceSpec {
  std::string model;
  // What can be given out: 1000 = the whole device; 0 = present but out of service.
  std::int64_t gpu_milli = kMilli;
  // Absent: memory is not tracked and holds nobody back. 0 is a device without memory.
  std::optional<std::int64_t> gpu_mem_mib;
  // Of gpu_mem_mib, kept back for the driver and never given out.
  std::int64_t reserved_mem_mib = 0;
  SharingMode sharing = SharingMode::kFraction;
  // Equal parts that MPS or time-slicing offers, 1 to kMaxReplicas; 1 in other modes.
  std::int64_t replicas = 1;
  // MIG instances that exist, whether used or not; only with sharing kMig.
  std::vector<MigPartition> partitions = {};
  // MIG instances may be made where slices are free. With sharing kExclusive or kFraction: while
  // nobody is on the device, which is whole again when the last instance has gone.
  bool partition_on_demand = false;

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

// A node with its capacity. Checked by Validate (spec/validate.h) where it enters a state:
// amounts in [0, 2^40], at most 64 devices, a name that is not empty.
struct NodeSpec {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::vector<DeviceSpec> devices;

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

// What others than this library use on a node: daemons, another scheduler. Absent entries are 0.
struct ForeignUsage {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::vector<std::int64_t> device_milli;  // by device index; at most as many as there are devices

  friend bool operator==(const ForeignUsage&, const ForeignUsage&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_NODE_SPEC_H_
