// StateSnapshot: all that is true, by name, as plain data; for saving and for building a state
// anew.
#ifndef GPUSCHED_STATE_SNAPSHOT_H_
#define GPUSCHED_STATE_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

struct NodeSnapshot {
  NodeSpec spec;
  std::vector<DeviceSpec> lost;  // devices beyond those of `spec` that tasks are on
  ForeignUsage foreign;
  bool cordoned = false;
};

// One task; `node` and `devices` if it is placed on a node that is here.
struct TaskSnapshot {
  TaskPhase phase = TaskPhase::kPending;
  std::int64_t attempt = 1;
  std::int64_t failures = 0;
  Time deadline = kNoDeadline;
  std::string node;
  DeviceMask devices;
  std::vector<MigInstance> instances = {};
};

struct JobSnapshot {
  JobSpec spec;
  Time submit_time = 0;
  std::uint32_t alternative = 0;
  std::int64_t first_attempt = 1;
  JobHeader header;
  std::vector<std::vector<TaskSnapshot>> groups;
  std::vector<ParkedTask> parked;
};

struct HoldSnapshot {
  std::string name;
  std::string owner;
  ShapeSpec shape;
  std::string node;
  DeviceMask devices;
  std::vector<MigInstance> instances = {};
  Time until = kNoDeadline;
};

// Nodes in node order, jobs in order of submission: all that a decision depends on.
struct StateSnapshot {
  std::vector<std::string> opaque_models;
  std::vector<GpuModel> models = {};  // that were added to the catalogue
  std::vector<MigGeometrySpec> geometries = {};
  Time now = 0;
  std::vector<NodeSnapshot> nodes;
  std::vector<JobSnapshot> jobs;
  std::vector<HoldSnapshot> holds;
};

// Errors: kFailedPrecondition for tasks that were placed without a job. O(state).
GPUSCHED_EXPORT absl::StatusOr<StateSnapshot> TakeSnapshot(const ClusterState& state);

// A state with the same content and hash. Errors: kInvalidArgument, or what a Transaction says, if
// the parts do not go together. O(state).
GPUSCHED_EXPORT absl::StatusOr<ClusterState> BuildState(const StateSnapshot& snapshot);

}  // namespace gpusched

#endif  // GPUSCHED_STATE_SNAPSHOT_H_
