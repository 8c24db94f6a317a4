#include "gpusched/state/transaction.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpusched/base/quantity.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate.h"
#include "gpusched/state/fit.h"

namespace gpusched {
namespace {

// Sums over a cluster stay below this, so that differences of two sums stay inside 64 bits.
constexpr std::int64_t kMaxTotal = std::int64_t{1} << 62;

absl::Status StaleNode(const ClusterState& state, NodeId node) {
  return FieldError(absl::StatusCode::kNotFound, "", "node", Quoted(state.node_name(node)),
                    "it is not in the cluster (any more); look it up anew by name");
}

// Says what exactly does not fit; called only when FitsOn said no.
absl::Status DoesNotFit(const ClusterState& state, const Shape& shape, const Placement& placement) {
  const NodeView node = state.node(placement.node.slot);
  const std::string where =
      absl::StrCat("node '", std::string(state.node_name(placement.node)), "'");
  const auto lacks = [&](std::string_view field, std::int64_t have, std::int64_t need) {
    return FieldError(absl::StatusCode::kFailedPrecondition, where, field,
                      absl::StrCat(have, " free"), absl::StrCat("the task asks ", need));
  };
  if (node.cpu_free() < shape.cpu_milli)
    return lacks("cpu_milli", node.cpu_free(), shape.cpu_milli);
  if (node.mem_free() < shape.mem_mib) return lacks("mem_mib", node.mem_free(), shape.mem_mib);
  if (const std::string_view wrong = WrongForm(shape, placement.devices, placement.instances);
      !wrong.empty()) {
    return FieldError(absl::StatusCode::kFailedPrecondition, where, "devices",
                      absl::StrCat(placement.devices.size(), " devices"),
                      absl::StrCat("the task asks ", shape.gpu_count, ": ", std::string(wrong)));
  }
  for (DeviceMask rest = placement.devices; !rest.empty(); rest.DropFirst()) {
    const auto i = static_cast<std::size_t>(rest.First());
    const std::string field = absl::StrCat("devices[", i, "]");
    if (i >= node.devices().size()) {
      return FieldError(absl::StatusCode::kFailedPrecondition, where, field, "missing",
                        absl::StrCat("the node has ", node.devices().size(), " devices"));
    }
    const DeviceFree& device = node.devices()[i];
    if (((shape.models >> device.model) & 1) == 0) {
      return FieldError(absl::StatusCode::kFailedPrecondition, where, field,
                        Quoted(state.models().name(device.model)),
                        "the task does not allow this model");
    }
    if (!placement.instances.empty()) continue;
    if (device.gpu_milli < shape.gpu_milli) {
      return lacks(field + ".gpu_milli", device.gpu_milli, shape.gpu_milli);
    }
    if (device.mem_mib < shape.gpu_mem_mib) {
      return lacks(field + ".gpu_mem_mib", device.mem_mib, shape.gpu_mem_mib);
    }
    if ((device.offers & shape.wants() & ~kOfferMig) == 0) {
      const SharingMode sharing = node.device_ledgers()[i].sharing;
      return FieldError(absl::StatusCode::kFailedPrecondition, where,
                        absl::StrCat(field, ".sharing"), std::string(SharingModeName(sharing)),
                        "it can't be had in a way that the task asks now");
    }
  }
  for (const MigInstance& instance : placement.instances) {
    const auto i = static_cast<std::size_t>(instance.device);
    const MigInstance alone[] = {instance};
    Shape one = shape;
    one.gpu_count = 1;
    if (FitsOn(node, one, DeviceMask::Of(instance.device), alone)) continue;
    return FieldError(absl::StatusCode::kFailedPrecondition, where,
                      absl::StrCat("devices[", i, "]"),
                      absl::StrCat(instance.profile, " at ", instance.start),
                      "no such MIG instance can be had there now");
  }
  if (!placement.instances.empty()) {
    return FieldError(absl::StatusCode::kFailedPrecondition, where, "instances", "overlapping",
                      "each can be had alone, but not all together");
  }
  return absl::InternalError("a placement was refused that fits");
}

// What holds for an adopted task too: instances are those of a task that asks some, on devices that
// a node can have.
absl::Status CheckInstances(const std::string& where, const Shape& shape,
                            const Placement& placement) {
  if (placement.instances.empty() && !shape.asks_profile()) return absl::OkStatus();
  const std::string_view wrong = WrongForm(shape, placement.devices, placement.instances);
  if (wrong.empty()) return absl::OkStatus();
  return InvalidField(where, "instances", absl::StrCat(placement.instances.size(), " instances"),
                      wrong);
}

}  // namespace

Transaction::Transaction(ClusterState& state)
    : state_(state), log_(state.undo_log_), open_(!state.transaction_open_) {
  if (open_) state_.transaction_open_ = true;
}

Transaction::~Transaction() {
  if (!open_) return;
  RollbackTo(0);
  Close();
}

absl::Status Transaction::CheckOpen() const {
  if (open_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this transaction is over, or another one is open on the same state; "
      "commit or drop that one and begin a new one");
}

absl::Status Transaction::CheckNode(NodeId node) const {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  return state_.nodes_.Has(node) ? absl::OkStatus() : StaleNode(state_, node);
}

absl::StatusOr<std::vector<std::uint32_t>> Transaction::CheckCapacity(const NodeSpec& spec,
                                                                      const Resources& others) {
  GPUSCHED_RETURN_IF_ERROR(Validate(spec, state_.catalog_));
  Resources totals = others;
  const auto add = [&](ResourceKind kind, std::int64_t amount) {
    return CheckedAdd(totals[kind], amount, totals[kind]) && totals[kind] <= kMaxTotal;
  };
  bool fits =
      add(ResourceKind::kCpuMilli, spec.cpu_milli) && add(ResourceKind::kMemMib, spec.mem_mib);
  for (const DeviceSpec& device : spec.devices) {
    fits = fits && add(ResourceKind::kGpuMilli, device.gpu_milli) &&
           add(ResourceKind::kGpuMemMib, device.gpu_mem_mib.value_or(0));
  }
  const std::string where = "node " + Quoted(spec.name);
  if (!fits) {
    return FieldError(absl::StatusCode::kResourceExhausted, where, "the cluster's sum with it",
                      "too large",
                      absl::StrCat("a cluster holds at most ", kMaxTotal, " units of a resource"));
  }
  const std::uint32_t known = state_.models_.size();
  std::vector<std::uint32_t> models;
  models.reserve(spec.devices.size());
  for (const DeviceSpec& device : spec.devices) {
    const std::uint32_t before = state_.models_.size();
    const auto index = state_.models_.Intern(device.model);
    if (!index) {
      state_.models_.Truncate(known);
      return FieldError(absl::StatusCode::kResourceExhausted, where, "devices[].model",
                        Quoted(device.model),
                        absl::StrCat("one state knows at most ", kMaxModels, " model names"));
    }
    if (state_.models_.size() > before) {
      state_.nodes_.mutable_mig().SetModel(*index, state_.catalog_.MigOf(device.model));
    }
    models.push_back(*index);
  }
  return models;
}

absl::StatusOr<NodeId> Transaction::AddNode(const NodeSpec& spec) {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  GPUSCHED_RETURN_IF_ERROR(Validate(spec, state_.catalog_));
  if (state_.node_names_.Find(spec.name)) {
    return FieldError(absl::StatusCode::kAlreadyExists, "node", "name", Quoted(spec.name),
                      "a node of this name is in the cluster; use another name or remove it first");
  }
  const auto models = CheckCapacity(spec, state_.capacity_);
  if (!models.ok()) return models.status();
  const std::uint32_t slot = state_.nodes_.Insert(spec, *models);
  state_.node_names_.Bind(spec.name, slot);
  AddCapacity(slot, 1);
  log_.entries.push_back({.op = Op::kAddNode, .slot = slot});
  return state_.nodes_.id(slot);
}

absl::Status Transaction::RemoveNode(NodeId node) {
  GPUSCHED_RETURN_IF_ERROR(CheckNode(node));
  const auto busy = [&](std::size_t count, std::string_view what) {
    return FieldError(
        absl::StatusCode::kFailedPrecondition, "node", std::string(state_.node_name(node)),
        absl::StrCat("running ", count, " ", std::string(what)), "release them first");
  };
  if (const std::size_t tasks = state_.tasks_.on_node(node.slot).size(); tasks > 0) {
    return busy(tasks, "tasks");
  }
  const auto& holds = state_.holds_.list();
  const auto held = std::count_if(holds.begin(), holds.end(),
                                  [&](const Hold& hold) { return hold.placement.node == node; });
  if (held > 0) return busy(static_cast<std::size_t>(held), "holds");
  AddCapacity(node.slot, -1);
  state_.node_names_.Unbind(node.slot);
  const std::size_t position = state_.nodes_.Detach(node.slot);
  log_.entries.push_back({.op = Op::kRemoveNode, .slot = node.slot, .extra = position});
  return absl::OkStatus();
}

absl::Status Transaction::UpdateNode(NodeId node, const NodeSpec& spec) {
  GPUSCHED_RETURN_IF_ERROR(CheckNode(node));
  if (spec.name != state_.node_name(node)) {
    return FieldError(absl::StatusCode::kFailedPrecondition,
                      "node " + Quoted(state_.node_name(node)), "name", Quoted(spec.name),
                      "a node keeps its name; remove it and add another");
  }
  Resources others = state_.capacity_;
  for (std::size_t i = 0; i < kResourceKinds; ++i) {
    others.amount[i] -= state_.nodes_.capacity(node.slot).amount[i];
  }
  const auto models = CheckCapacity(spec, others);
  if (!models.ok()) return models.status();
  NodeSpec before = state_.NodeSpecOf(node);
  // Lost devices too: what is on them still counts on what they are.
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    GPUSCHED_RETURN_IF_ERROR(CheckKept(node, i, spec));
  }
  // Nobody uses a device that is not there; our own tasks on it are another matter.
  if (spec.devices.size() < before.devices.size()) {
    ForeignUsage foreign = state_.ForeignOf(node);
    foreign.device_milli.resize(spec.devices.size());
    GPUSCHED_RETURN_IF_ERROR(SetForeign(node, foreign));
  }
  log_.entries.push_back({.op = Op::kUpdateNode, .slot = node.slot, .extra = log_.nodes.size()});
  log_.nodes.push_back({.spec = std::move(before), .rows = state_.nodes_.RowKinds(node.slot)});
  AddCapacity(node.slot, -1);
  state_.nodes_.Update(node.slot, spec, *models);
  AddCapacity(node.slot, 1);
  return absl::OkStatus();
}

absl::Status Transaction::CheckKept(NodeId node, std::size_t device, const NodeSpec& spec) const {
  const auto listed = state_.nodes_.devices(node.slot);
  if (device >= listed.size() || !listed[device].in_use()) return absl::OkStatus();
  const DeviceLedger& is = listed[device];
  const DeviceSpec& said = spec.devices[device];
  const auto refuse = [&](std::string_view field, const std::string& value,
                          const std::string& now) {
    return FieldError(
        absl::StatusCode::kFailedPrecondition, "node " + Quoted(spec.name),
        absl::StrCat("devices[", device, "].", std::string(field)), value,
        absl::StrCat("it is ", now,
                     " and somebody uses it; remove the node, or wait until it is free"));
  };
  const std::string_view model =
      state_.models_.name(state_.nodes_.device_free(node.slot)[device].model);
  if (said.model != model) return refuse("model", Quoted(said.model), Quoted(model));
  if (said.sharing != is.sharing) {
    return refuse("sharing", std::string(SharingModeName(said.sharing)),
                  std::string(SharingModeName(is.sharing)));
  }
  if (said.replicas != is.replicas) {
    return refuse("replicas", absl::StrCat(said.replicas), absl::StrCat(is.replicas));
  }
  if (said.partition_on_demand != is.partition_on_demand && is.sharing != SharingMode::kMig) {
    const auto text = [](bool yes) { return std::string(yes ? "true" : "false"); };
    return refuse("partition_on_demand", text(said.partition_on_demand),
                  text(is.partition_on_demand));
  }
  return absl::OkStatus();
}

absl::Status Transaction::SetCordoned(NodeId node, bool cordoned) {
  GPUSCHED_RETURN_IF_ERROR(CheckNode(node));
  const bool before = state_.nodes_.cordoned(node.slot);
  log_.entries.push_back({.op = Op::kSetCordoned, .slot = node.slot, .extra = before ? 1U : 0U});
  state_.nodes_.SetCordoned(node.slot, cordoned);
  return absl::OkStatus();
}

absl::Status Transaction::SetForeign(NodeId node, const ForeignUsage& usage) {
  GPUSCHED_RETURN_IF_ERROR(CheckNode(node));
  const std::string where =
      absl::StrCat("foreign usage of node '", std::string(state_.node_name(node)), "'");
  const auto check = [&](std::string_view field, std::int64_t value) {
    if (value >= 0 && value <= kMaxQuantity) return absl::OkStatus();
    return InvalidField(where, field, absl::StrCat(value), absl::StrCat("use 0 to ", kMaxQuantity));
  };
  GPUSCHED_RETURN_IF_ERROR(check("cpu_milli", usage.cpu_milli));
  GPUSCHED_RETURN_IF_ERROR(check("mem_mib", usage.mem_mib));
  const std::uint32_t devices = state_.nodes_.declared_devices(node.slot);
  if (usage.device_milli.size() > devices) {
    return InvalidField(where, "device_milli", absl::StrCat(usage.device_milli.size(), " entries"),
                        absl::StrCat("the node has ", devices, " devices"));
  }
  for (const std::int64_t milli : usage.device_milli) {
    GPUSCHED_RETURN_IF_ERROR(check("device_milli", milli));
  }
  log_.entries.push_back({.op = Op::kSetForeign, .slot = node.slot, .extra = log_.foreign.size()});
  log_.foreign.push_back(state_.ForeignOf(node));
  state_.nodes_.SetForeign(node.slot, usage);
  return absl::OkStatus();
}

absl::StatusOr<TaskId> Transaction::Place(std::string_view task, ShapeId shape,
                                          const Placement& placement, const TaskOwner& owner) {
  return Take(task, shape, placement, owner, /*must_fit=*/true);
}

absl::StatusOr<TaskId> Transaction::PlaceUnnamed(ShapeId shape, const Placement& placement) {
  return Take(std::nullopt, shape, placement, {}, /*must_fit=*/true);
}

absl::StatusOr<TaskId> Transaction::Adopt(std::string_view task, ShapeId shape,
                                          const Placement& placement, const TaskOwner& owner) {
  return Take(task, shape, placement, owner, /*must_fit=*/false);
}

absl::StatusOr<TaskId> Transaction::Take(std::optional<std::string_view> task, ShapeId shape,
                                         const Placement& placement, const TaskOwner& owner,
                                         bool must_fit) {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  if (task) GPUSCHED_RETURN_IF_ERROR(state_.CheckNewTask(*task));
  const auto where = [&] { return "task " + Quoted(task.value_or("")); };
  if (!state_.shapes_.Has(shape)) {
    return InvalidField(where(), "shape", absl::StrCat("#", shape.slot),
                        "intern it in this state first");
  }
  if (!state_.nodes_.Has(placement.node)) return StaleNode(state_, placement.node);
  const Shape& request = state_.shapes_[shape];
  if (must_fit &&
      !FitsOn(state_.node(placement.node.slot), request, placement.devices, placement.instances)) {
    return DoesNotFit(state_, request, placement);
  }
  if (request.asks_profile() || !placement.instances.empty()) {
    GPUSCHED_RETURN_IF_ERROR(CheckInstances(where(), request, placement));
  }
  const std::uint32_t slot =
      state_.tasks_.Insert({.shape = shape, .placement = placement, .owner = owner});
  if (task) {
    state_.task_names_.Bind(*task, slot);
  } else {
    state_.task_names_.BindNothing(slot);
  }
  state_.nodes_.Take(placement.node.slot, request, placement.devices, placement.instances);
  log_.entries.push_back({.op = Op::kPlace, .slot = slot});
  return state_.tasks_.id(slot);
}

absl::Status Transaction::Release(TaskId task) {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  if (!state_.tasks_.Has(task)) {
    return FieldError(absl::StatusCode::kNotFound, "", "task", Quoted(state_.task_name(task)),
                      "it is not running (any more), so there is nothing to release");
  }
  const TaskRow& row = state_.tasks_[task.slot];
  state_.nodes_.Give(row.placement.node.slot, state_.shapes_[row.shape], row.placement.devices,
                     row.placement.instances);
  state_.task_names_.Unbind(task.slot);
  state_.tasks_.Detach(task.slot);
  log_.entries.push_back({.op = Op::kRelease, .slot = task.slot});
  return absl::OkStatus();
}

absl::Status Transaction::AddHold(Hold hold, bool must_fit) {
  GPUSCHED_RETURN_IF_ERROR(CheckNode(hold.placement.node));
  if (hold.name.empty()) return InvalidField("hold", "name", "''", "give it a unique name");
  if (state_.holds_.Find(hold.name)) {
    return FieldError(absl::StatusCode::kAlreadyExists, "hold", "name", Quoted(hold.name),
                      "a hold of this name is there; use another name or drop it first");
  }
  if (!state_.shapes_.Has(hold.shape)) {
    return InvalidField("hold " + Quoted(hold.name), "shape", absl::StrCat("#", hold.shape.slot),
                        "intern it in this state first");
  }
  const Shape& shape = state_.shapes_[hold.shape];
  const std::uint32_t node = hold.placement.node.slot;
  if (must_fit &&
      !FitsOn(state_.node(node), shape, hold.placement.devices, hold.placement.instances)) {
    return DoesNotFit(state_, shape, hold.placement);
  }
  GPUSCHED_RETURN_IF_ERROR(CheckInstances("hold " + Quoted(hold.name), shape, hold.placement));
  state_.nodes_.AddHeld(node, shape, hold.placement.devices, 1, hold.placement.instances);
  const std::size_t position = state_.holds_.list().size();
  state_.holds_.Insert(position, std::move(hold));
  log_.entries.push_back({.op = Op::kAddHold, .slot = node, .extra = position});
  return absl::OkStatus();
}

absl::Status Transaction::DropHold(std::size_t position) {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  if (position >= state_.holds_.list().size()) {
    return FieldError(absl::StatusCode::kNotFound, "", "hold", absl::StrCat("#", position),
                      absl::StrCat("there are ", state_.holds_.list().size(), " holds"));
  }
  Hold hold = state_.holds_.Remove(position);
  const std::uint32_t node = hold.placement.node.slot;
  state_.nodes_.AddHeld(node, state_.shapes_[hold.shape], hold.placement.devices, -1,
                        hold.placement.instances);
  log_.holds.push_back(std::move(hold));
  log_.entries.push_back({.op = Op::kDropHold, .slot = node, .extra = position});
  return absl::OkStatus();
}

absl::Status Transaction::SetNow(Time now) {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  if (now < state_.now_ || now > kMaxTime) {
    return InvalidField(
        "", "now", absl::StrCat(now),
        absl::StrCat("time does not go backwards; use ", state_.now_, " to ", kMaxTime));
  }
  log_.entries.push_back({.op = Op::kSetNow, .slot = 0});
  log_.times.push_back(state_.now_);
  state_.now_ = now;
  return absl::OkStatus();
}

void Transaction::RollbackTo(Mark mark) {
  if (!open_) return;
  while (log_.entries.size() > mark) {
    Undo(log_.entries.back());
    log_.entries.pop_back();
  }
}

void Transaction::Undo(const Entry& entry) {
  const std::uint32_t slot = entry.slot;
  switch (entry.op) {
    case Op::kAddNode:
      AddCapacity(slot, -1);
      state_.node_names_.Unbind(slot);
      state_.nodes_.Detach(slot);
      state_.nodes_.Recycle(slot);
      break;
    case Op::kRemoveNode:
      state_.nodes_.Reattach(slot, entry.extra);
      state_.node_names_.Rebind(slot);
      AddCapacity(slot, 1);
      break;
    case Op::kSetForeign:
      state_.nodes_.SetForeign(slot, log_.foreign.back());
      log_.foreign.pop_back();
      break;
    case Op::kUpdateNode: {
      const NodeSpec& before = log_.nodes.back().spec;
      std::vector<std::uint32_t> models;
      for (const DeviceSpec& device : before.devices) {
        models.push_back(*state_.models_.Find(device.model));
      }
      AddCapacity(slot, -1);
      state_.nodes_.Update(slot, before, models);
      state_.nodes_.SetRowKinds(slot, log_.nodes.back().rows);
      AddCapacity(slot, 1);
      log_.nodes.pop_back();
      break;
    }
    case Op::kSetCordoned:
      state_.nodes_.SetCordoned(slot, entry.extra != 0);
      break;
    case Op::kPlace: {
      const TaskRow& row = state_.tasks_[slot];
      state_.nodes_.Give(row.placement.node.slot, state_.shapes_[row.shape], row.placement.devices,
                         row.placement.instances);
      state_.task_names_.Unbind(slot);
      state_.tasks_.Detach(slot);
      state_.tasks_.Recycle(slot);
      break;
    }
    case Op::kRelease: {
      const TaskRow& row = state_.tasks_[slot];
      state_.tasks_.Reattach(slot);
      state_.task_names_.Rebind(slot);
      state_.nodes_.Take(row.placement.node.slot, state_.shapes_[row.shape], row.placement.devices,
                         row.placement.instances);
      break;
    }
    case Op::kAddHold: {
      const Hold hold = state_.holds_.Remove(entry.extra);
      state_.nodes_.AddHeld(hold.placement.node.slot, state_.shapes_[hold.shape],
                            hold.placement.devices, -1, hold.placement.instances);
      break;
    }
    case Op::kDropHold: {
      Hold& hold = log_.holds.back();
      state_.nodes_.AddHeld(hold.placement.node.slot, state_.shapes_[hold.shape],
                            hold.placement.devices, 1, hold.placement.instances);
      state_.holds_.Insert(entry.extra, std::move(hold));
      log_.holds.pop_back();
      break;
    }
    case Op::kSetNow:
      state_.now_ = log_.times.back();
      log_.times.pop_back();
      break;
    case Op::kAddJob:
    case Op::kRemoveJob:
    case Op::kSetHeader:
    case Op::kSetTask:
    case Op::kSetJob:
    case Op::kSetParked:
      UndoJob(entry);
      break;
  }
}

void Transaction::Commit() {
  if (!open_) return;
  // What was removed kept its slot until now, so that it could be put back.
  for (const Entry& entry : log_.entries) {
    if (entry.op == Op::kRemoveNode) state_.nodes_.Recycle(entry.slot);
    if (entry.op == Op::kRelease) state_.tasks_.Recycle(entry.slot);
    if (entry.op == Op::kRemoveJob) state_.jobs_.Recycle(entry.slot);
  }
  Close();
}

void Transaction::AddCapacity(std::uint32_t slot, std::int64_t sign) {
  const Resources& node = state_.nodes_.capacity(slot);
  for (std::size_t i = 0; i < kResourceKinds; ++i) {
    state_.capacity_.amount[i] += sign * node.amount[i];
  }
}

void Transaction::Close() {
  log_.Clear();
  open_ = false;
  state_.transaction_open_ = false;
}

}  // namespace gpusched
