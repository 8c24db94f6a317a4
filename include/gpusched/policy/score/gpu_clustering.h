// GpuClustering: put tasks beside tasks that ask as much GPU as they do.
#ifndef GPUSCHED_POLICY_SCORE_GPU_CLUSTERING_H_
#define GPUSCHED_POLICY_SCORE_GPU_CLUSTERING_H_

#include <string_view>

#include "gpusched/export.h"
#include "gpusched/policy/score/norms.h"

namespace gpusched {

// Weng et al., ATC 2023, section 6.1 (GpuClustering, after Gandiva's affinity). Kinds are a share,
// 1, 2, 4, 8 and any other number of devices; tasks without GPU belong to none. A node that hosts
//   only the task's kind 75 · the task's kind and others 50 · no kind 25 · only others 0,
// plus ⌊25 · (N_gpu − gpu_free)/N_gpu⌋ with gpu_free before placement. Tasks without GPU score 0.
// Range [0, 100]; nodes with more than N_gpu free get no bonus.
//
// The paper's words leave open that a task is clustered by its own kind only, and that free GPU is
// counted before placement; these choices reproduce its published table (docs/fill.md).
struct GPUSCHED_EXPORT GpuClustering {
  ScoreNorms norms;  // the GPU norm only

  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 100}; }
  constexpr std::string_view problem() const { return norms.problem(); }

  Score operator()(const NodeView& node, const Shape& shape, DeviceMask devices) const;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_GPU_CLUSTERING_H_
