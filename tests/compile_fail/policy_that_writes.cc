// What a policy sees is const: it can't change the ledger that it reads.
// MUST_NOT_COMPILE: const gpusched::NodeTable
#include "gpusched/state/state_view.h"

int main() {
  const gpusched::ClusterState state;
  const gpusched::StateView view(state);
#ifdef MUST_NOT_COMPILE
  view.nodes().Detach(0);
#endif
  return static_cast<int>(view.node_order().size());
}
