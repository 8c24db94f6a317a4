// Explain: the account of why no node takes a task.
#ifndef GPUSCHED_ENGINE_EXPLAIN_H_
#define GPUSCHED_ENGINE_EXPLAIN_H_

#include <cstdint>
#include <string>

#include "gpusched/decision/refusal.h"
#include "gpusched/export.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// Gathers a Refusal, one node at a time.
class GPUSCHED_EXPORT RefusalBuilder {
 public:
  // Begins the next node.
  void BeginNode(NodeId node);
  // Takes one filter's answer about it.
  void Add(const Shortfall& shortfall);
  Refusal Finish();

 private:
  void EndNode();

  Refusal refusal_;
  bool any_node_ = false;
  bool all_never_ = true;
  NodeId node_;
  std::uint32_t failing_ = 0;
  bool never_ = false;
  Shortfall worst_;
  std::uint32_t nearest_failing_ = 0;
};

// One line for people, e.g. "0 of 12 nodes take it: 8 NoDeviceWithRoom, 4 InsufficientCpu; nearest
// is 'n3': 500 gpu_milli of one device asked, 320 free".
GPUSCHED_EXPORT std::string RefusalText(const ClusterState& state, const Refusal& refusal);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_EXPLAIN_H_
