#include "gpusched/state/cluster_state.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate.h"

namespace gpusched {

std::optional<NodeId> ClusterState::FindNode(std::string_view name) const {
  const auto slot = node_names_.Find(name);
  if (!slot) return std::nullopt;
  return nodes_.id(*slot);
}

std::optional<TaskId> ClusterState::FindTask(std::string_view name) const {
  const auto slot = task_names_.Find(name);
  if (!slot) return std::nullopt;
  return tasks_.id(*slot);
}

std::optional<JobId> ClusterState::FindJob(std::string_view name) const {
  const auto slot = job_names_.Find(name);
  if (!slot) return std::nullopt;
  return jobs_.id(*slot);
}

NodeSpec ClusterState::NodeSpecOf(NodeId node) const {
  const std::uint32_t node_slot = node.slot;
  const NodeTable& nodes = nodes_;
  NodeSpec spec{.name = std::string(node_names_.name(node_slot)),
                .cpu_milli = nodes.capacity(node_slot)[ResourceKind::kCpuMilli],
                .mem_mib = nodes.capacity(node_slot)[ResourceKind::kMemMib],
                .devices = {}};
  for (std::size_t i = 0; i < nodes.declared_devices(node_slot); ++i) {
    const DeviceLedger& ledger = nodes.devices(node_slot)[i];
    DeviceSpec device{.model = std::string(models_.name(nodes.device_free(node_slot)[i].model)),
                      .gpu_milli = ledger.capacity.gpu_milli,
                      .gpu_mem_mib = {}};
    if (ledger.mem_tracked) device.gpu_mem_mib = ledger.capacity.mem_mib;
    spec.devices.push_back(std::move(device));
  }
  return spec;
}

ForeignUsage ClusterState::ForeignOf(NodeId node) const {
  const Resources& foreign = nodes_.foreign(node.slot);
  ForeignUsage usage{.cpu_milli = foreign[ResourceKind::kCpuMilli],
                     .mem_mib = foreign[ResourceKind::kMemMib],
                     .device_milli = {}};
  for (const DeviceLedger& device : nodes_.devices(node.slot)) {
    usage.device_milli.push_back(device.foreign.gpu_milli);
  }
  return usage;
}

absl::StatusOr<ClusterState> ClusterState::Fork() const {
  if (transaction_open_) {
    return absl::FailedPreconditionError(
        "a transaction is open on this state; commit or drop it before forking");
  }
  return ClusterState(*this);
}

absl::Status ClusterState::CheckNewTask(std::string_view name) const {
  if (name.empty()) return InvalidField("task", "name", "''", "give it a unique name");
  if (!task_names_.Find(name)) return absl::OkStatus();
  return FieldError(absl::StatusCode::kAlreadyExists, "task", "name", Quoted(name),
                    "a task of this name is running; use another name or release it first");
}

absl::StatusOr<ShapeId> ClusterState::Intern(const ShapeSpec& spec) {
  GPUSCHED_RETURN_IF_ERROR(Validate(spec, catalog_));
  Shape shape{.cpu_milli = spec.cpu_milli,
              .mem_mib = spec.mem_mib,
              .gpu_mem_mib = spec.gpu_mem_mib,
              .gpu_milli = static_cast<std::int32_t>(spec.gpu_milli),
              .gpu_count = static_cast<std::int32_t>(spec.gpu_count)};
  if (!spec.models.empty()) shape.models = 0;
  const std::uint32_t known = models_.size();
  for (const std::string& name : spec.models) {
    const auto index = models_.Intern(name);
    if (!index) {
      models_.Truncate(known);
      return FieldError(absl::StatusCode::kResourceExhausted, "shape", "models", Quoted(name),
                        absl::StrCat("one state knows at most ", kMaxModels, " model names"));
    }
    shape.models |= ModelMask{1} << *index;
  }
  return shapes_.Intern(shape);
}

}  // namespace gpusched
