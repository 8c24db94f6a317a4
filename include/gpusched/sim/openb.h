// Reader of the openb-2023 trace format (Alibaba's GPU cluster trace of 2023, as packaged by the
// authors of the FGD simulator).
#ifndef GPUSCHED_SIM_OPENB_H_
#define GPUSCHED_SIM_OPENB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/sim/csv.h"
#include "gpusched/sim/workload.h"

namespace gpusched {

// Nodes: columns sn, cpu_milli, memory_mib, gpu, model (model may be empty if gpu is 0). Every node
// becomes one with `gpu` whole devices of that model, memory untracked. Columns in any order,
// further ones are ignored. Errors: kInvalidArgument with file, line and column.
GPUSCHED_EXPORT absl::StatusOr<std::vector<NodeSpec>> OpenbNodes(const CsvTable& table);

// Pods: columns name, cpu_milli, memory_mib, num_gpu, gpu_milli; optionally gpu_spec (allowed
// models joined by a bar; empty = any). Errors as above.
GPUSCHED_EXPORT absl::StatusOr<std::vector<Pod>> OpenbPods(const CsvTable& table);

// Reads both files. The trace's model names are its own, so all are declared opaque; pods and nodes
// are validated and their names are unique.
GPUSCHED_EXPORT absl::StatusOr<Workload> ReadOpenb(const std::string& nodes_csv,
                                                   const std::string& pods_csv);

}  // namespace gpusched

#endif  // GPUSCHED_SIM_OPENB_H_
