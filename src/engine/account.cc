#include "gpusched/engine/account.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gpusched/engine/explain.h"

namespace gpusched {
namespace {

// Whether a task uses something of which more is used than there is.
bool IsOver(const ClusterState& state, const TaskRow& row) {
  const NodeTable& nodes = state.nodes();
  const std::uint32_t node = row.placement.node.slot;
  const Shape& shape = state.shapes()[row.shape];
  const auto over = [&](ResourceKind kind) {
    return nodes.used(node)[kind] + nodes.foreign(node)[kind] > nodes.capacity(node)[kind];
  };
  if (shape.cpu_milli > 0 && over(ResourceKind::kCpuMilli)) return true;
  if (shape.mem_mib > 0 && over(ResourceKind::kMemMib)) return true;
  for (DeviceMask rest = row.placement.devices; !rest.empty(); rest.DropFirst()) {
    const DeviceLedger& device = nodes.devices(node)[static_cast<std::size_t>(rest.First())];
    if (device.used.gpu_milli + device.foreign.gpu_milli > device.capacity.gpu_milli) return true;
    const auto& slices = device.used_by.slices;
    if (std::any_of(slices.begin(), slices.end(), [](std::uint16_t n) { return n > 1; })) {
      return true;
    }
    if (device.mem_tracked && device.used.mem_mib > device.capacity.mem_mib) return true;
  }
  return false;
}

const ParkedTask* FindParked(const JobRow& job, std::uint32_t group, std::uint32_t index) {
  const auto it = std::find_if(job.parked.begin(), job.parked.end(), [&](const ParkedTask& task) {
    return task.group == group && task.index == index;
  });
  return it == job.parked.end() ? nullptr : &*it;
}

}  // namespace

std::string TaskNode(const ClusterState& state, const JobRow& job, std::uint32_t group,
                     std::uint32_t index) {
  const TaskState& task = job.groups[group].tasks[index];
  if (task.ledger.has_value()) {
    return std::string(state.node_name(state.tasks()[task.ledger.slot].placement.node));
  }
  const ParkedTask* parked = FindParked(job, group, index);
  return parked == nullptr ? std::string() : parked->node;
}

DeviceMask TaskDevices(const ClusterState& state, const JobRow& job, std::uint32_t group,
                       std::uint32_t index) {
  const TaskState& task = job.groups[group].tasks[index];
  if (task.ledger.has_value()) return state.tasks()[task.ledger.slot].placement.devices;
  const ParkedTask* parked = FindParked(job, group, index);
  return parked == nullptr ? DeviceMask() : parked->devices;
}

std::vector<MigInstance> TaskInstances(const ClusterState& state, const JobRow& job,
                                       std::uint32_t group, std::uint32_t index) {
  const TaskState& task = job.groups[group].tasks[index];
  if (task.ledger.has_value()) return state.tasks()[task.ledger.slot].placement.instances;
  const ParkedTask* parked = FindParked(job, group, index);
  return parked == nullptr ? std::vector<MigInstance>() : parked->instances;
}

DeviceGrant GrantOf(const ClusterState& state, const Shape& shape, const Placement& placement) {
  if (placement.devices.empty()) return {};
  const std::uint32_t node = placement.node.slot;
  const auto device = static_cast<std::size_t>(placement.devices.First());
  return GrantOf(state.nodes().devices(node)[device],
                 state.nodes().mig().geometry(state.nodes().device_free(node)[device].model), shape,
                 placement.instances);
}

JobStatus StatusOf(const ClusterState& state, JobId job) {
  const JobRow& row = state.jobs()[job.slot];
  JobStatus status{.job = row.spec.name,
                   .kind = row.spec.kind,
                   .queue = row.spec.queue,
                   .priority = row.spec.priority,
                   .submit_time = row.submit_time,
                   .alternative = row.alternative,
                   .repair_deadline = row.header.repair_deadline,
                   .ending = row.header.ending,
                   .tasks = {}};
  for (std::uint32_t g = 0; g < row.groups.size(); ++g) {
    const GroupState& group = row.groups[g];
    for (std::uint32_t i = 0; i < group.tasks.size(); ++i) {
      const TaskState& task = group.tasks[i];
      if (i >= group.count && !IsPlaced(task.phase)) continue;
      TaskStatus entry{.task = {.job = row.spec.name,
                                .group = row.group_specs()[g].name,
                                .index = i,
                                .attempt = task.attempt},
                       .phase = task.phase,
                       .node = TaskNode(state, row, g, i),
                       .devices = TaskDevices(state, row, g, i),
                       .grant = {},
                       .deadline = task.deadline};
      entry.grant.instances = TaskInstances(state, row, g, i);
      if (task.ledger.has_value()) {
        const TaskRow& placed = state.tasks()[task.ledger.slot];
        entry.grant = GrantOf(state, state.shapes()[placed.shape], placed.placement);
        entry.over = IsOver(state, placed);
      }
      status.tasks.push_back(std::move(entry));
    }
  }
  return status;
}

std::string WaitText(const WaitReason& why, Outcome outcome) {
  std::string text(ReasonName(why.reason));
  if (const std::string numbers = ShortfallText(why.reason, why.need, why.have); !numbers.empty()) {
    absl::StrAppend(&text, ": ", numbers);
  }
  const bool about_job = why.group.empty();
  if (!about_job) {
    absl::StrAppend(&text, " (group '", why.group, "'");
    if (!why.subject.empty()) absl::StrAppend(&text, ", nearest node '", why.subject, "'");
    absl::StrAppend(&text, ")");
  } else if (!why.subject.empty()) {
    absl::StrAppend(&text, " ('", why.subject, "')");
  }
  if (outcome == Outcome::kNever)
    absl::StrAppend(&text, "; this cluster could not hold it when empty");
  return text;
}

std::string AccountText(const JobAccount& account) {
  if (!account.waits()) {
    return absl::StrCat("job '", account.job,
                        "' does not wait: it has what it asks for, or the next plan places it");
  }
  std::string text =
      absl::StrCat("job '", account.job, "' waits: ", WaitText(account.why, account.outcome));
  for (const GroupAccount& group : account.groups) {
    absl::StrAppend(&text, "\n  ");
    if (group.job != account.job) absl::StrAppend(&text, "job '", group.job, "', ");
    absl::StrAppend(&text, "group '", group.group, "'");
    if (group.alternative > 0) absl::StrAppend(&text, " of alternative ", group.alternative);
    absl::StrAppend(&text, ": ", group.placed, " of ", group.need, " placed, then ", group.text);
  }
  return text;
}

}  // namespace gpusched
