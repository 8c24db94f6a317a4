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
