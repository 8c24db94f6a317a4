// Event: a fact or a wish that the caller tells the engine.
//
// Facts about tasks are idempotent, keyed by (task, attempt): said twice, or late, they change
// nothing, and the answer says so. An event that is refused changes nothing either.
#ifndef GPUSCHED_SPEC_EVENT_H_
#define GPUSCHED_SPEC_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/time.h"
#include "gpusched/spec/job_spec.h"
#include "gpusched/spec/mig_instance.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/shape_spec.h"
#include "gpusched/spec/task_key.h"

namespace gpusched {

// A node joins. A live name is kAlreadyExists.
struct AddNode {
  NodeSpec node;
};

// A node is not what it was; absent parts stay. It may become smaller than what runs on it: then
// nothing is free there. `devices` replaces the list by index; a device that is missing from it is
// lost (what others use of it is forgotten), and its tasks run on until the caller says otherwise.
// Unknown node: kNotFound.
struct UpdateNode {
  std::string node;
  std::optional<std::int64_t> cpu_milli;
  std::optional<std::int64_t> mem_mib;
  std::optional<std::vector<DeviceSpec>> devices;
  std::optional<ForeignUsage> foreign;  // what daemons and other schedulers use there
};

// A node is lost. Its tasks are queued again, once. Unknown node: no change.
struct RemoveNode {
  std::string node;
};

// Nothing new comes to the node; what runs stays. Unknown node: kNotFound.
struct CordonNode {
  std::string node;
  bool cordoned = true;
};

// A job arrives. A live name is kAlreadyExists.
struct SubmitJob {
  JobSpec job;
};

// A group by its name in the alternative that the job is on: that of its last placement, the first
// if it was never placed.
struct GroupUpdate {
  std::string group;
  // Fewer: tasks from this index on are not wanted any more; pending ones are gone at once, placed
  // ones are evicted by the next plan.
  std::optional<std::int64_t> count;
  // Absent: if it was given before, that, but at most `count`; else the default for `count`.
  std::optional<std::int64_t> min_available;
  std::optional<ShapeSpec> shape;  // only while no task of the group is placed
};

// The wish has changed; absent parts stay. Unknown job or group: kNotFound.
struct UpdateJob {
  std::string job;
  std::optional<std::string> queue;
  std::optional<std::int64_t> priority;
  std::optional<Duration> expected_duration;
  std::vector<GroupUpdate> groups;
};

// The job is not wanted any more: pending tasks go now, placed ones are evicted by the next plan.
// Unknown job: no change.
struct CancelJob {
  std::string job;
};

// Where a task was found running that the engine has not placed itself.
struct TaskPlace {
  std::string node;
  DeviceMask devices;
  std::vector<MigInstance> instances = {};  // of which the devices are those, if it has any
};

// A placed task runs. With `place`, a pending task is adopted as it runs there, even if its node
// has not joined yet or is too full: for restoring without a journal.
struct TaskStarted {
  TaskKey task;
  std::optional<TaskPlace> place;
};

// A task ended well; of a service, it is queued again.
struct TaskFinished {
  TaskKey task;
};

// A task did not start or crashed; it is queued again, unless max_attempts ends the job.
struct TaskFailed {
  TaskKey task;
};

// A task is gone because the plan said so, or because somebody else took it; it is queued again if
// it is still wanted.
struct TaskEvicted {
  TaskKey task;
};

// Keeps capacity of a node for a job: others see it as not free until the job is placed (wherever
// that is), the hold is dropped, or `until` has come. One name, one hold; a live name is
// kAlreadyExists. What is held must be free: else kFailedPrecondition.
struct HoldCapacity {
  std::string name;
  std::string owner;  // a job, which need not have been submitted yet
  std::string node;
  ShapeSpec shape;     // how much, as one task asks it
  DeviceMask devices;  // of which devices
  std::vector<MigInstance> instances =
      {};  // of which the devices are those, if the task would have any
  Time until = kNoDeadline;
};

// Unknown hold: no change.
struct DropHold {
  std::string name;
};

// Time has passed: placements that nobody acknowledged and holds expire. Never backwards.
struct Tick {
  Time now = 0;
};

using Event =
    std::variant<AddNode, UpdateNode, RemoveNode, CordonNode, SubmitJob, UpdateJob, CancelJob,
                 TaskStarted, TaskFinished, TaskFailed, TaskEvicted, HoldCapacity, DropHold, Tick>;

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_EVENT_H_
