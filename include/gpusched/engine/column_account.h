// ExplainByColumns: the account of why no node takes a task, without a look at every node.
#ifndef GPUSCHED_ENGINE_COLUMN_ACCOUNT_H_
#define GPUSCHED_ENGINE_COLUMN_ACCOUNT_H_

#include "gpusched/decision/refusal.h"
#include "gpusched/export.h"
#include "gpusched/index/fit_columns.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// What ExplainNodes gathers without further filters, field by field, from columns that are brought
// up to date for this state. Nodes are counted 64 at a time; the filters are asked only about nodes
// that may come nearer than all before them, and about those that the columns can't judge: nodes
// that are not plain, of several models where the shape allows only some, or with the asked device
// memory on some devices only; and, for requests that are not shares or whole devices, nodes with a
// device of an allowed model. If CPU or memory beyond 32 bits is asked, it is about every node.
// O(nodes / 8) with wide instructions, and O(devices) for each node that the filters are asked
// about.
GPUSCHED_EXPORT Refusal ExplainByColumns(FitColumns& columns, const ClusterState& state,
                                         const Shape& shape);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_COLUMN_ACCOUNT_H_
