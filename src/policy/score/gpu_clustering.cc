#include "gpusched/policy/score/gpu_clustering.h"

#include <cstddef>

#include "gpusched/spec/task_kind.h"

namespace gpusched {

Score GpuClustering::operator()(const NodeView& node, const Shape& shape, DeviceMask) const {
  if (!shape.asks_gpu()) return 0;
  bool others = false;
  for (std::size_t i = 0; i < kTaskKinds; ++i) {
    const auto kind = static_cast<TaskKind>(i);
    if (kind == TaskKind::kCpuOnly || kind == shape.kind()) continue;
    others = others || node.tasks(kind) > 0;
  }
  const bool same = node.tasks(shape.kind()) > 0;
  const Score base = same ? (others ? 50 : 75) : (others ? 0 : 25);
  return base + SaturatingRatio(Wide{25} * (norms.gpu_milli - node.gpu_free_milli()),
                                norms.gpu_milli, {0, 25});
}

}  // namespace gpusched
