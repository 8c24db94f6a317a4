// What news of a task does: started, finished, failed, evicted.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/lifecycle.h"
#include "gpusched/engine/account.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/fit.h"

namespace gpusched {
namespace {

// Whether the job has such a task in some alternative.
bool HasTask(const JobSpec& job, const TaskKey& key) {
  for (std::size_t i = 0; i <= job.alternatives.size(); ++i) {
    for (const TaskGroupSpec& group : job.Alternative(i)) {
      if (group.name == key.group && key.index < group.count) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> Lifecycle::Locate(const TaskKey& key, TaskIndex& task) {
  const auto ignore = [&](std::string note) -> absl::StatusOr<bool> {
    effect_.note = std::move(note);
    return false;
  };
  const std::string name = TaskName(key);
  const auto job = state_.FindJob(key.job);
  if (!job) return ignore(absl::StrCat("no job '", key.job, "' is here (any more)"));
  const JobRow& row = Row(*job);
  const auto& groups = row.group_specs();
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const TaskGroupSpec& g) { return g.name == key.group; });
  task = {.job = *job,
          .group = static_cast<std::uint32_t>(group - groups.begin()),
          .index = static_cast<std::uint32_t>(key.index)};
  if (group == groups.end() || task.index >= row.groups[task.group].tasks.size()) {
    if (HasTask(row.spec, key)) {
      return ignore(absl::StrCat("'", name, "' is of an alternative that the job is not on"));
    }
    return InvalidField("task " + Quoted(name), group == groups.end() ? "group" : "index",
                        group == groups.end() ? Quoted(key.group) : absl::StrCat(key.index),
                        "the job has no such task");
  }
  const TaskState& state = Task(task);
  if (key.attempt < state.attempt) {
    return ignore(absl::StrCat("attempt ", key.attempt, " of '", name, "' is over; attempt ",
                               state.attempt, " is ", std::string(TaskPhaseName(state.phase))));
  }
  return true;
}

namespace {

absl::Status NeverPlaced(const TaskKey& key, const TaskState& state) {
  return InvalidField(
      "task " + Quoted(TaskName(key)), "attempt", absl::StrCat(key.attempt),
      absl::StrCat("it was never placed; the task is ", std::string(TaskPhaseName(state.phase)),
                   " at attempt ", state.attempt));
}

bool IsPlacedAs(const TaskState& state, const TaskKey& key) {
  return key.attempt == state.attempt && state.phase != TaskPhase::kPending;
}

std::string AlreadyFinished(const TaskKey& key) {
  return absl::StrCat("'", TaskName(key), "' has finished");
}

}  // namespace

absl::Status Lifecycle::On(const TaskStarted& event) {
  TaskIndex task;
  const auto found = Locate(event.task, task);
  if (!found.ok() || !*found) return found.status();
  TaskState state = Task(task);
  if (state.phase == TaskPhase::kPending && event.place) return Adopt(event, task);
  if (!IsPlacedAs(state, event.task)) return NeverPlaced(event.task, state);
  if (event.place && IsPlaced(state.phase)) {
    const std::string node = NodeOf(task);
    if (node != event.place->node || DevicesOf(task) != event.place->devices ||
        TaskInstances(state_, Row(task.job), task.group, task.index) != event.place->instances) {
      return InvalidField("task " + Quoted(TaskName(event.task)), "place",
                          absl::StrCat("on '", event.place->node, "'"),
                          absl::StrCat("this attempt was placed elsewhere, on '", node, "'"));
    }
  }
  if (state.phase != TaskPhase::kAssumed) {
    return Ignore(absl::StrCat("'", TaskName(event.task), "' is ",
                               std::string(TaskPhaseName(state.phase)), " already"));
  }
  state.phase = TaskPhase::kRunning;
  state.deadline = kNoDeadline;
  effect_.changed = true;
  return transaction_.SetTask(task.job, task.group, task.index, state);
}

absl::Status Lifecycle::Adopt(const TaskStarted& event, const TaskIndex& task) {
  const TaskPlace& place = *event.place;
  const std::string where = "task " + Quoted(TaskName(event.task));
  const JobRow& row = Row(task.job);
  const Shape& shape = state_.shapes()[row.groups[task.group].shape];
  if (!IsWanted(task) || row.header.releasing) {
    return FieldError(absl::StatusCode::kFailedPrecondition, where, "task", "not wanted any more",
                      "stop it instead");
  }
  if (const std::string_view wrong = WrongForm(shape, place.devices, place.instances);
      !wrong.empty()) {
    return InvalidField(
        where, place.instances.empty() ? "devices" : "instances",
        absl::StrCat(place.devices.size(), " devices, ", place.instances.size(), " instances"),
        absl::StrCat("the task asks ", shape.gpu_count, ": ", std::string(wrong)));
  }
  const auto node = state_.FindNode(place.node);
  TaskState state = Task(task);
  state.phase = TaskPhase::kRunning;
  state.attempt = event.task.attempt;
  if (node) {
    for (DeviceMask rest = place.devices; !rest.empty(); rest.DropFirst()) {
      const auto device = static_cast<std::uint32_t>(rest.First());
      if (device < state_.nodes().declared_devices(node->slot)) continue;
      return InvalidField(where, "devices", absl::StrCat("device ", device),
                          absl::StrCat("node '", place.node, "' has ",
                                       state_.nodes().declared_devices(node->slot)));
    }
    const auto ledger =
        transaction_.Adopt(TaskName(event.task), row.groups[task.group].shape,
                           {.node = *node, .devices = place.devices, .instances = place.instances},
                           {.job = task.job, .group = task.group, .index = task.index});
    if (!ledger.ok()) return ledger.status();
    state.ledger = *ledger;
  } else {
    std::vector<ParkedTask> parked = row.parked;
    parked.push_back({.group = task.group,
                      .index = task.index,
                      .node = place.node,
                      .devices = place.devices,
                      .instances = place.instances});
    GPUSCHED_RETURN_IF_ERROR(transaction_.SetParked(task.job, std::move(parked)));
  }
  effect_.changed = true;
  GPUSCHED_RETURN_IF_ERROR(transaction_.SetTask(task.job, task.group, task.index, state));
  GPUSCHED_RETURN_IF_ERROR(StartJobGroup(task.job));
  return Settle(task.job);
}

absl::Status Lifecycle::AdoptParked(const std::string& node) {
  for (std::uint32_t slot = 0; slot < state_.jobs().slots(); ++slot) {
    if (!state_.jobs().live(slot) || state_.jobs()[slot].parked.empty()) continue;
    const JobId job = state_.jobs().id(slot);
    const std::vector<ParkedTask> parked = Row(job).parked;
    std::vector<ParkedTask> stay;
    for (const ParkedTask& entry : parked) {
      if (entry.node != node) {
        stay.push_back(entry);
        continue;
      }
      const TaskIndex task{.job = job, .group = entry.group, .index = entry.index};
      const NodeId id = *state_.FindNode(node);
      if ((entry.devices.bits() &
           ~DeviceMask::FirstOf(static_cast<int>(state_.nodes().declared_devices(id.slot)))
                .bits()) != 0) {
        // The node has no such device, so the task can't be there.
        GPUSCHED_RETURN_IF_ERROR(Leave(task, TaskPhase::kPending));
        continue;
      }
      const auto ledger =
          transaction_.Adopt(TaskName(KeyOf(task)), Row(job).groups[entry.group].shape,
                             {.node = id, .devices = entry.devices, .instances = entry.instances},
                             {.job = job, .group = entry.group, .index = entry.index});
      if (!ledger.ok()) return ledger.status();
      TaskState state = Task(task);
      state.ledger = *ledger;
      GPUSCHED_RETURN_IF_ERROR(transaction_.SetTask(job, entry.group, entry.index, state));
    }
    if (stay.size() < parked.size()) {
      GPUSCHED_RETURN_IF_ERROR(transaction_.SetParked(job, std::move(stay)));
      GPUSCHED_RETURN_IF_ERROR(Settle(job));
    }
  }
  return absl::OkStatus();
}

absl::Status Lifecycle::RequeueParked(const std::string& node) {
  for (std::uint32_t slot = 0; slot < state_.jobs().slots(); ++slot) {
    if (!state_.jobs().live(slot) || state_.jobs()[slot].parked.empty()) continue;
    const JobId job = state_.jobs().id(slot);
    // All at once: there may be many.
    std::vector<ParkedTask> lost, stay;
    for (const ParkedTask& entry : Row(job).parked) {
      (entry.node == node ? lost : stay).push_back(entry);
    }
    if (lost.empty()) continue;
    GPUSCHED_RETURN_IF_ERROR(transaction_.SetParked(job, std::move(stay)));
    for (const ParkedTask& entry : lost) {
      GPUSCHED_RETURN_IF_ERROR(
          Leave({.job = job, .group = entry.group, .index = entry.index}, TaskPhase::kPending));
    }
    GPUSCHED_RETURN_IF_ERROR(Settle(job));
  }
  return absl::OkStatus();
}

absl::Status Lifecycle::On(const TaskFinished& event) {
  TaskIndex task;
  const auto found = Locate(event.task, task);
  if (!found.ok() || !*found) return found.status();
  if (!IsPlacedAs(Task(task), event.task)) return NeverPlaced(event.task, Task(task));
  if (Task(task).phase == TaskPhase::kFinished) return Ignore(AlreadyFinished(event.task));
  const bool service = Row(task.job).spec.kind == JobKind::kService;
  GPUSCHED_RETURN_IF_ERROR(Leave(task, service ? TaskPhase::kPending : TaskPhase::kFinished));
  return Settle(task.job);
}

absl::Status Lifecycle::On(const TaskFailed& event) {
  TaskIndex task;
  const auto found = Locate(event.task, task);
  if (!found.ok() || !*found) return found.status();
  if (!IsPlacedAs(Task(task), event.task)) return NeverPlaced(event.task, Task(task));
  if (Task(task).phase == TaskPhase::kFinished) return Ignore(AlreadyFinished(event.task));
  // A process that is being stopped often reports a failure; that is not the job's fault.
  const bool counts = Task(task).phase != TaskPhase::kEvicting;
  GPUSCHED_RETURN_IF_ERROR(Leave(task, TaskPhase::kPending, counts));
  const auto& most = Row(task.job).spec.max_attempts;
  JobHeader header = Row(task.job).header;
  if (counts && most && Task(task).failures >= *most && !header.ending) {
    header.ending = EvictCause::kJobFailed;
    GPUSCHED_RETURN_IF_ERROR(transaction_.SetHeader(task.job, header));
  }
  return Settle(task.job);
}

absl::Status Lifecycle::On(const TaskEvicted& event) {
  TaskIndex task;
  const auto found = Locate(event.task, task);
  if (!found.ok() || !*found) return found.status();
  if (!IsPlacedAs(Task(task), event.task)) return NeverPlaced(event.task, Task(task));
  if (Task(task).phase == TaskPhase::kFinished) return Ignore(AlreadyFinished(event.task));
  GPUSCHED_RETURN_IF_ERROR(Leave(task, TaskPhase::kPending));
  return Settle(task.job);
}

}  // namespace gpusched
