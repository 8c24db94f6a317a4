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
  return transaction_.AddHold(
      {.name = event.name,
       .owner = event.owner,
       .shape = *shape,
       .placement = {.node = *node, .devices = event.devices, .instances = event.instances},
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
