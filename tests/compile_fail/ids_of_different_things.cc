// A handle of a node is not a handle of a task.
// MUST_NOT_COMPILE: NodeTag
#include "gpusched/state/transaction.h"

int main() {
  gpusched::ClusterState state;
  gpusched::Transaction transaction(state);
#ifdef MUST_NOT_COMPILE
  const gpusched::NodeId id;
#else
  const gpusched::TaskId id;
#endif
  return transaction.Release(id).ok() ? 1 : 0;
}
