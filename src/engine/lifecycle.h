// Lifecycle: how the state moves on when something happens. Events, expiries, commits and trial
// cycles all go through it, so that they can't differ.
#ifndef GPUSCHED_SRC_ENGINE_LIFECYCLE_H_
#define GPUSCHED_SRC_ENGINE_LIFECYCLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gpusched/decision/effect.h"
#include "gpusched/decision/plan.h"
#include "gpusched/engine/settings.h"
#include "gpusched/spec/event.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"

namespace gpusched {

// Which task of which live job.
struct TaskIndex {
  JobId job;
  std::uint32_t group = 0;
  std::uint32_t index = 0;
};

// One step in time on an open transaction. What it changes beyond what it was told is gathered in
// an Effect. On an error the caller rolls the transaction back.
class Lifecycle {
 public:
  Lifecycle(const ClusterState& state, Transaction& transaction, const EngineSettings& settings)
      : state_(state), transaction_(transaction), settings_(settings) {}

  absl::Status Apply(const Event& event);

  // Moves time on: placements that nobody acknowledged, and holds, expire.
  absl::Status AdvanceTo(Time now);
  // Puts the steps of a plan into effect.
  absl::Status ApplyPlan(const Plan& plan);
  // Queues those placements of the plan again that have not started.
  absl::Status AbortPlan(const Plan& plan);

  // --- the steps, by handle, as a cycle tries them
  // ------------------------------------------------
  absl::Status PlaceTask(const TaskIndex& task, const Placement& placement, Time now);
  absl::Status MarkEvicting(const TaskIndex& task, EvictCause cause);
  // After a job's placements: its holds end, its job group has started.
  absl::Status FinishPlacing(JobId job);

  absl::Status DropHoldsOf(const std::string& owner);
  // Whether the jobs of a group have started together, and are on their own since.
  bool JobGroupStarted(const std::string& group) const;

  TaskKey KeyOf(const TaskIndex& task) const;
  // The node of a placed task, be it joined or not.
  std::string NodeOf(const TaskIndex& task) const;
  // Lists in order of name; nothing more is gathered.
  Effect TakeEffect();

 private:
  absl::Status On(const AddNode& event);
  absl::Status On(const UpdateNode& event);
  absl::Status On(const RemoveNode& event);
  absl::Status On(const CordonNode& event);
  absl::Status On(const SubmitJob& event);
  absl::Status On(const UpdateJob& event);
  absl::Status On(const CancelJob& event);
  absl::Status On(const TaskStarted& event);
  absl::Status On(const TaskFinished& event);
  absl::Status On(const TaskFailed& event);
  absl::Status On(const TaskEvicted& event);
  absl::Status On(const HoldCapacity& event);
  absl::Status On(const DropHold& event);
  absl::Status On(const Tick& event);

  // Finds the task that news is about. False: there is nothing to do, and the note says why.
  absl::StatusOr<bool> Locate(const TaskKey& key, TaskIndex& task);
  const JobRow& Row(JobId job) const { return state_.jobs()[job.slot]; }
  const TaskState& Task(const TaskIndex& task) const {
    return Row(task.job).groups[task.group].tasks[task.index];
  }
  DeviceMask DevicesOf(const TaskIndex& task) const;
  // It is to run, now or again.
  bool IsWanted(const TaskIndex& task) const;
  // The task that a plan's step is about, after the job has been put on the alternative.
  absl::Status FindForStep(const TaskKey& key, std::optional<std::int64_t> alternative,
                           TaskIndex& task);
  absl::Status Adopt(const TaskStarted& event, const TaskIndex& task);
  absl::Status AdoptParked(const std::string& node);
  absl::Status RequeueParked(const std::string& node);
  // Takes back what the task holds, and puts it into `phase`; pending: under the next attempt.
  absl::Status Leave(const TaskIndex& task, TaskPhase phase, bool failed = false);
  // After a job's tasks have changed: is it over, is it in repair?
  absl::Status Settle(JobId job);
  absl::Status EndJob(JobId job, JobEnd how);
  absl::Status StartJobGroup(JobId job);
  absl::Status Ignore(std::string note);

  const ClusterState& state_;
  Transaction& transaction_;
  const EngineSettings& settings_;
  Effect effect_;
};

}  // namespace gpusched

#endif  // GPUSCHED_SRC_ENGINE_LIFECYCLE_H_
