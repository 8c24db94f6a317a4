#include "gpusched/engine/scheduler.h"

#include "absl/strings/str_cat.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {

absl::Status CheckAskable(const ClusterState& state, ShapeId shape) {
  if (!state.shapes().Has(shape)) {
    return InvalidField("", "shape", absl::StrCat("#", shape.slot),
                        "intern it in this state first");
  }
  const Shape& request = state.shapes()[shape];
  if (request.asks_gpu() && state.node_count() > 0 &&
      state.capacity()[ResourceKind::kGpuMilli] == 0) {
    return FieldError(absl::StatusCode::kFailedPrecondition, "shape", "gpu_count",
                      absl::StrCat(request.gpu_count),
                      "this cluster has no GPU; add a node with devices, or ask 0");
  }
  return absl::OkStatus();
}

template class BasicScheduler<AnyScore>;

}  // namespace gpusched
