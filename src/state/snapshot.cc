#include "gpusched/state/snapshot.h"

#include <algorithm>
#include <utility>

#include "gpusched/spec/field_error.h"
#include "gpusched/spec/task_key.h"
#include "gpusched/spec/validate_job.h"
#include "gpusched/spec/validate_model.h"
#include "gpusched/state/fit.h"
#include "gpusched/state/transaction.h"

namespace gpusched {
namespace {

NodeSnapshot SnapshotOf(const ClusterState& state, NodeId node) {
  NodeSnapshot snapshot{.spec = state.NodeSpecOf(node),
                        .lost = {},
                        .foreign = state.ForeignOf(node),
                        .cordoned = state.nodes().cordoned(node.slot)};
  snapshot.foreign.device_milli.resize(snapshot.spec.devices.size());
  const auto listed = state.nodes().device_free(node.slot);
  for (std::size_t i = snapshot.spec.devices.size(); i < listed.size(); ++i) {
    snapshot.lost.push_back(SpecOf(state.nodes().devices(node.slot)[i],
                                   state.nodes().mig().geometry(listed[i].model),
                                   state.models().name(listed[i].model)));
  }
  return snapshot;
}

JobSnapshot SnapshotOf(const ClusterState& state, const JobRow& job) {
  JobSnapshot snapshot{.spec = job.spec,
                       .submit_time = job.submit_time,
                       .alternative = job.alternative,
                       .first_attempt = job.first_attempt,
                       .header = job.header,
                       .groups = {},
                       .parked = job.parked};
  for (const GroupState& group : job.groups) {
    std::vector<TaskSnapshot>& tasks = snapshot.groups.emplace_back();
    for (const TaskState& task : group.tasks) {
      TaskSnapshot entry{.phase = task.phase,
                         .attempt = task.attempt,
                         .failures = task.failures,
                         .deadline = task.deadline,
                         .node = {},
                         .devices = {},
                         .instances = {}};
      if (task.ledger.has_value()) {
        const Placement& placement = state.tasks()[task.ledger.slot].placement;
        entry.node = std::string(state.node_name(placement.node));
        entry.devices = placement.devices;
        entry.instances = placement.instances;
      }
      tasks.push_back(std::move(entry));
    }
  }
  return snapshot;
}

absl::Status NoSuchNode(std::string_view where, const std::string& node) {
  return InvalidField(where, "node", Quoted(node), "the snapshot has no node of this name");
}

// The devices of a placement are as many as are asked, and the node has them (or had, until now).
absl::Status CheckDevices(const ClusterState& state, const std::string& where, NodeId node,
                          const Shape& shape, DeviceMask devices,
                          std::span<const MigInstance> instances) {
  const auto listed = static_cast<int>(state.nodes().devices(node.slot).size());
  const bool there = (devices.bits() & ~DeviceMask::FirstOf(listed).bits()) == 0;
  if (there && WrongForm(shape, devices, instances).empty()) return absl::OkStatus();
  return InvalidField(where, "devices", "others than it asks or than the node has",
                      "a placement names as many devices of its node as the shape asks");
}

// Each placed task is on a node, or parked; the others are neither.
absl::Status CheckTasks(const JobSnapshot& job) {
  const std::string where = "job " + Quoted(job.spec.name);
  std::vector<std::vector<int>> places;
  for (const auto& group : job.groups) {
    std::vector<int>& counts = places.emplace_back();
    for (const TaskSnapshot& task : group) counts.push_back(task.node.empty() ? 0 : 1);
  }
  for (const ParkedTask& task : job.parked) {
    if (task.group >= places.size() || task.index >= places[task.group].size()) {
      return InvalidField(where, "parked", "no task of the job",
                          "name a group and index that exist");
    }
    ++places[task.group][task.index];
  }
  for (std::size_t g = 0; g < places.size(); ++g) {
    for (std::size_t i = 0; i < places[g].size(); ++i) {
      const TaskPhase phase = job.groups[g][i].phase;
      if (places[g][i] == (IsPlaced(phase) ? 1 : 0)) continue;
      return InvalidField(where, "task", std::string(TaskPhaseName(phase)),
                          "a task has one place if it is placed, else none");
    }
  }
  return absl::OkStatus();
}

absl::Status RestoreJob(const ClusterState& state, Transaction& transaction,
                        const JobSnapshot& job) {
  GPUSCHED_RETURN_IF_ERROR(Validate(job.spec, state.catalog()));
  GPUSCHED_RETURN_IF_ERROR(CheckTasks(job));
  std::vector<std::vector<TaskState>> tasks;
  for (const auto& group : job.groups) {
    std::vector<TaskState>& states = tasks.emplace_back();
    for (const TaskSnapshot& task : group) {
      states.push_back({.phase = task.phase,
                        .attempt = task.attempt,
                        .failures = task.failures,
                        .ledger = {},
                        .deadline = task.deadline});
    }
  }
  const auto id = transaction.RestoreJob(job.spec, job.submit_time, job.alternative,
                                         job.first_attempt, job.header, std::move(tasks));
  if (!id.ok()) return id.status();
  if (!job.parked.empty()) GPUSCHED_RETURN_IF_ERROR(transaction.SetParked(*id, job.parked));
  const JobRow& row = state.jobs()[id->slot];
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    for (std::uint32_t i = 0; i < job.groups[g].size(); ++i) {
      const TaskSnapshot& task = job.groups[g][i];
      if (task.node.empty()) continue;
      const std::string name = TaskName({.job = job.spec.name,
                                         .group = row.group_specs()[g].name,
                                         .index = i,
                                         .attempt = task.attempt});
      const auto node = state.FindNode(task.node);
      if (!node) return NoSuchNode("task " + Quoted(name), task.node);
      const Shape& shape = state.shapes()[row.groups[g].shape];
      GPUSCHED_RETURN_IF_ERROR(
          CheckDevices(state, "task " + Quoted(name), *node, shape, task.devices, task.instances));
      const auto ledger =
          transaction.Adopt(name, row.groups[g].shape,
                            {.node = *node, .devices = task.devices, .instances = task.instances},
                            {.job = *id, .group = g, .index = i});
      if (!ledger.ok()) return ledger.status();
      TaskState placed = row.groups[g].tasks[i];
      placed.ledger = *ledger;
      GPUSCHED_RETURN_IF_ERROR(transaction.SetTask(*id, g, i, placed));
    }
  }
  return absl::OkStatus();
}

absl::Status RestoreAll(const ClusterState& state, Transaction& transaction,
                        const StateSnapshot& snapshot) {
  GPUSCHED_RETURN_IF_ERROR(transaction.SetNow(snapshot.now));
  for (const NodeSnapshot& node : snapshot.nodes) {
    // Lost devices are there until the tasks on them are; then they are lost again.
    NodeSpec spec = node.spec;
    spec.devices.insert(spec.devices.end(), node.lost.begin(), node.lost.end());
    const auto id = transaction.AddNode(spec);
    if (!id.ok()) return id.status();
    GPUSCHED_RETURN_IF_ERROR(transaction.SetForeign(*id, node.foreign));
    GPUSCHED_RETURN_IF_ERROR(transaction.SetCordoned(*id, node.cordoned));
  }
  for (const JobSnapshot& job : snapshot.jobs) {
    GPUSCHED_RETURN_IF_ERROR(RestoreJob(state, transaction, job));
  }
  for (const HoldSnapshot& hold : snapshot.holds) {
    const auto node = state.FindNode(hold.node);
    if (!node) return NoSuchNode("hold " + Quoted(hold.name), hold.node);
    const auto shape = transaction.Intern(hold.shape);
    if (!shape.ok()) return shape.status();
    GPUSCHED_RETURN_IF_ERROR(CheckDevices(state, "hold " + Quoted(hold.name), *node,
                                          state.shapes()[*shape], hold.devices, hold.instances));
    GPUSCHED_RETURN_IF_ERROR(transaction.AddHold(
        {.name = hold.name,
         .owner = hold.owner,
         .shape = *shape,
         .placement = {.node = *node, .devices = hold.devices, .instances = hold.instances},
         .until = hold.until},
        /*must_fit=*/false));
  }
  for (const NodeSnapshot& node : snapshot.nodes) {
    if (node.lost.empty()) continue;
    GPUSCHED_RETURN_IF_ERROR(transaction.UpdateNode(*state.FindNode(node.spec.name), node.spec));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StateSnapshot> TakeSnapshot(const ClusterState& state) {
  StateSnapshot snapshot;
  snapshot.opaque_models = state.catalog().opaque();
  snapshot.models = state.catalog().models();
  for (const auto& geometry : state.catalog().geometries()) {
    snapshot.geometries.push_back(geometry->spec());
  }
  snapshot.now = state.now();
  for (const std::uint32_t slot : state.nodes().order()) {
    snapshot.nodes.push_back(SnapshotOf(state, state.nodes().id(slot)));
  }
  for (std::uint32_t slot = 0; slot < state.tasks().slots(); ++slot) {
    if (!state.tasks().live(slot) || state.jobs().Has(state.tasks()[slot].owner.job)) continue;
    return FieldError(absl::StatusCode::kFailedPrecondition, "snapshot", "task",
                      Quoted(state.task_name(state.tasks().id(slot))),
                      "it belongs to no job; only the tasks of jobs can be kept");
  }
  std::vector<const JobRow*> jobs;
  for (std::uint32_t slot = 0; slot < state.jobs().slots(); ++slot) {
    if (state.jobs().live(slot)) jobs.push_back(&state.jobs()[slot]);
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const JobRow* a, const JobRow* b) { return a->sequence < b->sequence; });
  for (const JobRow* job : jobs) snapshot.jobs.push_back(SnapshotOf(state, *job));
  for (const Hold& hold : state.holds().list()) {
    snapshot.holds.push_back({.name = hold.name,
                              .owner = hold.owner,
                              .shape = state.SpecOf(state.shapes()[hold.shape]),
                              .node = std::string(state.node_name(hold.placement.node)),
                              .devices = hold.placement.devices,
                              .instances = hold.placement.instances,
                              .until = hold.until});
  }
  return snapshot;
}

absl::StatusOr<ClusterState> BuildState(const StateSnapshot& snapshot) {
  ModelCatalog catalog;
  for (const MigGeometrySpec& geometry : snapshot.geometries) {
    GPUSCHED_RETURN_IF_ERROR(AddMigGeometry(catalog, geometry));
  }
  for (const GpuModel& model : snapshot.models) {
    GPUSCHED_RETURN_IF_ERROR(AddModel(catalog, model));
  }
  for (const std::string& model : snapshot.opaque_models) catalog.DeclareOpaque(model);
  ClusterState state(std::move(catalog));
  {
    Transaction transaction(state);
    GPUSCHED_RETURN_IF_ERROR(RestoreAll(state, transaction, snapshot));
    transaction.Commit();
  }
  return state;
}

}  // namespace gpusched
