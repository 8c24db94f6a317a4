// Audit: recounts the ledger from the tasks and says where it is wrong.
#ifndef GPUSCHED_STATE_AUDIT_H_
#define GPUSCHED_STATE_AUDIT_H_

#include <span>

#include "absl/status/status.h"
#include "gpusched/base/resources.h"
#include "gpusched/export.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// OK if used and free of every device, node and the cluster's sums equal what the running tasks
// imply; else kInternal naming the first difference. O(nodes + devices + tasks); for tests and
// doubt, not for the hot path.
GPUSCHED_EXPORT absl::Status Audit(const ClusterState& state);

// Sums of a column over all rows.
GPUSCHED_EXPORT Resources SumRows(std::span<const Resources> rows);

}  // namespace gpusched

#endif  // GPUSCHED_STATE_AUDIT_H_
