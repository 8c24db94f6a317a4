// What each event does.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/lifecycle.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate_job.h"

namespace gpusched {
namespace {

absl::Status Unknown(std::string_view kind, const std::string& name) {
  return FieldError(absl::StatusCode::kNotFound, kind, "name", Quoted(name),
                    absl::StrCat("no ", std::string(kind), " of this name is here"));
}

std::string NoSuch(std::string_view kind, const std::string& name) {
  return absl::StrCat("no ", std::string(kind), " '", name, "' is here (any more)");
}

// Whether the job has such a task in some alternative.
bool HasTask(const JobSpec& job, const TaskKey& key) {
  for (std::size_t i = 0; i <= job.alternatives.size(); ++i) {
    for (const TaskGroupSpec& group : job.Alternative(i)) {
      if (group.name == key.group && key.index < group.count) return true;
    }
  }
  return false;
}

// A job that starts with others must say the same about them, and be one of as many as it says.
absl::Status CheckJobGroup(const ClusterState& state, const JobSpec& job) {
  const CoSchedule& wanted = *job.co_schedule;
  std::int64_t members = 1;
  for (std::uint32_t slot = 0; slot < state.jobs().slots(); ++slot) {
    if (!state.jobs().live(slot)) continue;
    const auto& other = state.jobs()[slot].spec.co_schedule;
    if (!other || other->group != wanted.group) continue;
    ++members;
    if (other->size == wanted.size) continue;
    return InvalidField("job " + Quoted(job.name), "co_schedule.size", absl::StrCat(wanted.size),
                        absl::StrCat("job '", state.jobs()[slot].spec.name,
                                     "' of the same group says ", other->size));
  }
  if (members <= wanted.size) return absl::OkStatus();
  return InvalidField("job " + Quoted(job.name), "co_schedule.group", Quoted(wanted.group),
                      absl::StrCat("it has its ", wanted.size, " jobs; use another group"));
}

}  // namespace

absl::Status Lifecycle::Apply(const Event& event) {
  GPUSCHED_RETURN_IF_ERROR(Validate(event, state_.catalog()));
  return std::visit([&](const auto& e) { return On(e); }, event);
}

absl::Status Lifecycle::On(const AddNode& event) {
  const auto node = transaction_.AddNode(event.node);
  if (!node.ok()) return node.status();
  effect_.changed = true;
  return AdoptParked(event.node.name);
}

absl::Status Lifecycle::On(const UpdateNode& event) {
  const auto node = state_.FindNode(event.node);
  if (!node) return Unknown("node", event.node);
  NodeSpec spec = state_.NodeSpecOf(*node);
  if (event.cpu_milli) spec.cpu_milli = *event.cpu_milli;
  if (event.mem_mib) spec.mem_mib = *event.mem_mib;
  if (event.devices) spec.devices = *event.devices;
  ForeignUsage foreign = state_.ForeignOf(*node);
  if (event.foreign) {
    foreign = *event.foreign;
    // The node may shrink and say so in one event: entries are by device, lost ones included.
    foreign.device_milli.resize(
        std::max(foreign.device_milli.size(), state_.nodes().devices(node->slot).size()));
  }
  const bool same_spec = spec == state_.NodeSpecOf(*node);
  const bool same_foreign = foreign == state_.ForeignOf(*node);
  if (same_spec && same_foreign)
    return Ignore(absl::StrCat("node '", event.node, "' is so already"));
  effect_.changed = true;
  if (!same_spec) GPUSCHED_RETURN_IF_ERROR(transaction_.UpdateNode(*node, spec));
  if (event.foreign) return transaction_.SetForeign(*node, *event.foreign);
  return absl::OkStatus();
}

absl::Status Lifecycle::On(const RemoveNode& event) {
  const auto node = state_.FindNode(event.node);
  if (!node) {
    GPUSCHED_RETURN_IF_ERROR(RequeueParked(event.node));
    return effect_.changed ? absl::OkStatus() : Ignore(NoSuch("node", event.node));
  }
  effect_.changed = true;
  std::vector<JobId> touched;
  while (!state_.tasks().on_node(node->slot).empty()) {
    const std::uint32_t row = state_.tasks().on_node(node->slot).back();
    const TaskOwner owner = state_.tasks()[row].owner;
    GPUSCHED_RETURN_IF_ERROR(
        Leave({.job = owner.job, .group = owner.group, .index = owner.index}, TaskPhase::kPending));
    if (std::find(touched.begin(), touched.end(), owner.job) == touched.end()) {
      touched.push_back(owner.job);
    }
  }
  for (std::size_t i = state_.holds().list().size(); i-- > 0;) {
    const Hold& hold = state_.holds().list()[i];
    if (hold.placement.node != *node) continue;
    effect_.expired_holds.push_back(hold.name);
    GPUSCHED_RETURN_IF_ERROR(transaction_.DropHold(i));
  }
  GPUSCHED_RETURN_IF_ERROR(transaction_.RemoveNode(*node));
  for (const JobId job : touched) GPUSCHED_RETURN_IF_ERROR(Settle(job));
  return absl::OkStatus();
}

absl::Status Lifecycle::On(const CordonNode& event) {
  const auto node = state_.FindNode(event.node);
  if (!node) return Unknown("node", event.node);
  if (state_.nodes().cordoned(node->slot) == event.cordoned) {
    return Ignore(absl::StrCat("node '", event.node, "' is so already"));
  }
  effect_.changed = true;
  return transaction_.SetCordoned(*node, event.cordoned);
}

absl::Status Lifecycle::On(const SubmitJob& event) {
  const Time submit_time = event.job.submit_time.value_or(state_.now());
  if (submit_time > state_.now()) {
    return InvalidField("job " + Quoted(event.job.name), "submit_time", absl::StrCat(submit_time),
                        absl::StrCat("it is now ", state_.now(),
                                     "; say the time first, or leave "
                                     "submit_time out"));
  }
  if (event.job.co_schedule) GPUSCHED_RETURN_IF_ERROR(CheckJobGroup(state_, event.job));
  const auto job = transaction_.AddJob(event.job, submit_time);
  if (!job.ok()) return job.status();
  effect_.changed = true;
  if (event.job.co_schedule && JobGroupStarted(event.job.co_schedule->group)) {
    JobHeader header = Row(*job).header;
    header.started_together = true;
    GPUSCHED_RETURN_IF_ERROR(transaction_.SetHeader(*job, header));
  }
  return Settle(*job);
}

absl::Status Lifecycle::On(const UpdateJob& event) {
  const auto job = state_.FindJob(event.job);
  if (!job) return Unknown("job", event.job);
  JobSpec spec = Row(*job).spec;
  if (event.queue) spec.queue = *event.queue;
  if (event.priority) spec.priority = *event.priority;
  if (event.expected_duration) spec.expected_duration = event.expected_duration;
  const std::uint32_t alternative = Row(*job).alternative;
  auto& groups = alternative == 0 ? spec.groups : spec.alternatives[alternative - 1];
  for (const GroupUpdate& update : event.groups) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const TaskGroupSpec& g) { return g.name == update.group; });
    if (group == groups.end()) return Unknown("group", update.group);
    if (update.count) group->count = *update.count;
    if (update.min_available) {
      group->min_available = update.min_available;
    } else if (group->min_available) {
      group->min_available = std::min(*group->min_available, group->count);
    }
    if (update.shape && *update.shape != group->shape) {
      const GroupState& state = Row(*job).groups[static_cast<std::size_t>(group - groups.begin())];
      if (state.placed() > 0) {
        return FieldError(absl::StatusCode::kFailedPrecondition,
                          absl::StrCat("job '", event.job, "', group '", update.group, "'"),
                          "shape", absl::StrCat("in use by ", state.placed(), " tasks"),
                          "it can change while no task of the group is placed");
      }
      group->shape = *update.shape;
    }
  }
  GPUSCHED_RETURN_IF_ERROR(Validate(spec, state_.catalog()));
  if (spec == Row(*job).spec) return Ignore(absl::StrCat("job '", event.job, "' is so already"));
  effect_.changed = true;
  GPUSCHED_RETURN_IF_ERROR(transaction_.SetSpec(*job, spec));
  return Settle(*job);
}

absl::Status Lifecycle::On(const CancelJob& event) {
  const auto job = state_.FindJob(event.job);
  if (!job) return Ignore(NoSuch("job", event.job));
  JobHeader header = Row(*job).header;
  if (header.ending)
    return Ignore(absl::StrCat("job '", event.job, "' is being taken back already"));
  header.ending = EvictCause::kCancelled;
  effect_.changed = true;
  GPUSCHED_RETURN_IF_ERROR(transaction_.SetHeader(*job, header));
  return Settle(*job);
}

absl::StatusOr<bool> Lifecycle::Locate(const TaskKey& key, TaskIndex& task) {
  const auto ignore = [&](std::string note) -> absl::StatusOr<bool> {
    effect_.note = std::move(note);
    return false;
  };
  const std::string name = TaskName(key);
  const auto job = state_.FindJob(key.job);
  if (!job) return ignore(NoSuch("job", key.job));
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
  if (event.place && state.ledger.has_value()) {
    const Placement& placement = state_.tasks()[state.ledger.slot].placement;
    if (state_.node_name(placement.node) != event.place->node ||
        placement.devices != event.place->devices) {
      return InvalidField("task " + Quoted(TaskName(event.task)), "place",
                          absl::StrCat("on '", event.place->node, "'"),
                          absl::StrCat("this attempt was placed elsewhere, on '",
                                       std::string(state_.node_name(placement.node)), "'"));
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
  if (row.header.ending || row.header.releasing || task.index >= row.groups[task.group].count) {
    return FieldError(absl::StatusCode::kFailedPrecondition, where, "task", "not wanted any more",
                      "stop it instead");
  }
  if (place.devices.size() != shape.gpu_count) {
    return InvalidField(where, "devices", absl::StrCat(place.devices.size(), " devices"),
                        absl::StrCat("the task asks ", shape.gpu_count));
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
                           {.node = *node, .devices = place.devices},
                           {.job = task.job, .group = task.group, .index = task.index});
    if (!ledger.ok()) return ledger.status();
    state.ledger = *ledger;
  } else {
    std::vector<ParkedTask> parked = row.parked;
    parked.push_back(
        {.group = task.group, .index = task.index, .node = place.node, .devices = place.devices});
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
                             {.node = id, .devices = entry.devices},
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
    bool lost = false;
    for (const ParkedTask& entry : std::vector<ParkedTask>(Row(job).parked)) {
      if (entry.node != node) continue;
      lost = true;
      GPUSCHED_RETURN_IF_ERROR(
          Leave({.job = job, .group = entry.group, .index = entry.index}, TaskPhase::kPending));
    }
    if (lost) GPUSCHED_RETURN_IF_ERROR(Settle(job));
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

absl::Status Lifecycle::On(const HoldCapacity& event) {
  const auto node = state_.FindNode(event.node);
  if (!node) return Unknown("node", event.node);
  if (event.until <= state_.now()) {
    return InvalidField("hold " + Quoted(event.name), "until", absl::StrCat(event.until),
                        absl::StrCat("it is now ", state_.now(), "; use a later time"));
  }
  const auto shape = transaction_.Intern(event.shape);
  if (!shape.ok()) return shape.status();
  effect_.changed = true;
  return transaction_.AddHold({.name = event.name,
                               .owner = event.owner,
                               .shape = *shape,
                               .placement = {.node = *node, .devices = event.devices},
                               .until = event.until});
}

absl::Status Lifecycle::On(const DropHold& event) {
  const auto position = state_.holds().Find(event.name);
  if (!position) return Ignore(NoSuch("hold", event.name));
  effect_.changed = true;
  return transaction_.DropHold(*position);
}

absl::Status Lifecycle::On(const Tick& event) {
  if (event.now == state_.now()) return Ignore(absl::StrCat("it is ", event.now, " already"));
  return AdvanceTo(event.now);
}

}  // namespace gpusched
