// Built-in workload: a production-like cluster and task mix without any file.
#ifndef GPUSCHED_SIM_GENERATOR_H_
#define GPUSCHED_SIM_GENERATOR_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/sim/workload.h"

namespace gpusched {

// How large, and drawn from which seed.
struct GeneratorOptions {
  std::int64_t pods = 8152;   // 1 to 8,000,000
  std::int64_t nodes = 1213;  // 1 to 1,000,000
  std::uint64_t seed = 1;
};

// Nodes of the kinds, and in the proportions, of the cluster in Weng et al., ATC 2023 (at 1,213
// nodes: 6,212 GPUs); pods with the shares that they publish: 85.7 % ask one GPU or a part of it,
// 13.3 % none, 0.2 % two, 0.2 % four, 0.5 % eight. Counts are exact (largest remainder); CPU,
// memory and share of each pod are drawn by seed from a few usual sizes of its kind. Errors:
// kInvalidArgument naming the option.
GPUSCHED_EXPORT absl::StatusOr<Workload> GenerateWorkload(const GeneratorOptions& options);

}  // namespace gpusched

#endif  // GPUSCHED_SIM_GENERATOR_H_
