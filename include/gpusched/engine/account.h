// JobStatus and JobAccount: how a job stands, and why it waits.
#ifndef GPUSCHED_ENGINE_ACCOUNT_H_
#define GPUSCHED_ENGINE_ACCOUNT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpusched/base/time.h"
#include "gpusched/decision/plan.h"
#include "gpusched/decision/refusal.h"
#include "gpusched/export.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// One task as a caller sees it.
struct TaskStatus {
  TaskKey task;  // with the attempt that is placed or was last; of a pending task, the next one
  TaskPhase phase = TaskPhase::kPending;
  std::string node;  // if it is placed; an adopted task may name one that has not joined yet
  DeviceMask devices;
  DeviceGrant grant =
      {};  // how it has them; of a node that has not joined yet, the instances alone
  Time deadline = kNoDeadline;  // of an assumed task: when it is queued again
  bool over = false;            // a resource that it uses there is over-used: the node has shrunk
};

struct JobStatus {
  std::string job;
  JobKind kind = JobKind::kBatch;
  std::string queue;
  std::int64_t priority = 0;
  Time submit_time = 0;
  std::int64_t alternative = 0;
  Time repair_deadline = kNoDeadline;  // of a gang that lacks members: when it is released
  std::optional<EvictCause> ending;    // the job is being taken back
  std::vector<TaskStatus> tasks;       // wanted or placed ones, in order of rank
};

GPUSCHED_EXPORT JobStatus StatusOf(const ClusterState& state, JobId job);

// The node of a placed task, joined or not; empty if it is not placed.
GPUSCHED_EXPORT std::string TaskNode(const ClusterState& state, const JobRow& job,
                                     std::uint32_t group, std::uint32_t index);

// Its devices there.
GPUSCHED_EXPORT DeviceMask TaskDevices(const ClusterState& state, const JobRow& job,
                                       std::uint32_t group, std::uint32_t index);

// Its MIG instances there.
GPUSCHED_EXPORT std::vector<MigInstance> TaskInstances(const ClusterState& state, const JobRow& job,
                                                       std::uint32_t group, std::uint32_t index);

// How a task of this shape has, or would have, its devices of a live node.
GPUSCHED_EXPORT DeviceGrant GrantOf(const ClusterState& state, const Shape& shape,
                                    const Placement& placement);

// The full account of one group that was looked at and found no place.
struct GroupAccount {
  std::string job;  // another one if jobs start together
  std::string group;
  std::int64_t alternative = 0;
  std::int64_t need = 0;    // tasks of the group that had to find a place
  std::int64_t placed = 0;  // as many did
  Refusal refusal;          // why the next one did not
  std::string text;
};

// Most groups that are accounted for: a gang on many models and alternatives has more ways to fail
// than anybody reads.
inline constexpr std::ptrdiff_t kMostGroupAccounts = 64;

// The answer to "why does it wait?".
struct JobAccount {
  std::string job;
  Outcome outcome = Outcome::kOk;  // kOk: it has what it asks for, or the next plan places it
  WaitReason why;
  std::vector<GroupAccount> groups;
  std::string text;  // lines for people

  bool waits() const { return outcome != Outcome::kOk; }
};

// One line: "GangDoesNotFit: 3 of 4 tasks that must start together find a place (group 'workers',
// nearest node 'n3')".
GPUSCHED_EXPORT std::string WaitText(const WaitReason& why, Outcome outcome);

// Lines for people: the reason, then each group that found no place.
GPUSCHED_EXPORT std::string AccountText(const JobAccount& account);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_ACCOUNT_H_
