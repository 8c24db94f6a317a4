#include "gpusched/state/cluster_state.h"

#include <algorithm>

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
    const std::uint32_t model = nodes.device_free(node_slot)[i].model;
    spec.devices.push_back(gpusched::SpecOf(nodes.devices(node_slot)[i],
                                            nodes.mig().geometry(model), models_.name(model)));
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

ShapeSpec ClusterState::SpecOf(const Shape& shape) const {
  ShapeSpec spec{.cpu_milli = shape.cpu_milli,
                 .mem_mib = shape.mem_mib,
                 .gpu_count = shape.gpu_count,
                 .gpu_milli = shape.gpu_milli,
                 .gpu_mem_mib = shape.gpu_mem_mib,
                 .models = {},
                 .mig_profile = {},
                 .sharing = {},
                 .distinct_devices = shape.distinct_devices};
  if (shape.asks_profile()) {
    spec.mig_profile = std::string(nodes_.mig().profile_name(shape.profile));
  }
  for (std::size_t mode = 0; mode < kSharingModes; ++mode) {
    if (((shape.sharing >> mode) & 1) != 0) spec.sharing.push_back(static_cast<SharingMode>(mode));
  }
  if (shape.models == kAnyModel) return spec;
  for (std::uint32_t i = 0; i < models_.size(); ++i) {
    if (((shape.models >> i) & 1) != 0) spec.models.emplace_back(models_.name(i));
  }
  std::sort(spec.models.begin(), spec.models.end());
  return spec;
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
    const std::uint32_t before = models_.size();
    const auto index = models_.Intern(name);
    if (!index) {
      models_.Truncate(known);
      return FieldError(absl::StatusCode::kResourceExhausted, "shape", "models", Quoted(name),
                        absl::StrCat("one state knows at most ", kMaxModels, " model names"));
    }
    if (models_.size() > before) nodes_.mutable_mig().SetModel(*index, catalog_.MigOf(name));
    shape.models |= ModelMask{1} << *index;
  }
  if (!spec.mig_profile.empty()) {
    shape.profile = nodes_.mutable_mig().InternProfile(spec.mig_profile);
  }
  for (const SharingMode mode : spec.sharing) {
    shape.sharing = static_cast<std::uint8_t>(shape.sharing | 1U << static_cast<unsigned>(mode));
  }
  shape.distinct_devices = spec.distinct_devices;
  return shapes_.Intern(shape);
}

}  // namespace gpusched
