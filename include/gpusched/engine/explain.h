// Explain: the account of why no node takes a task.
#ifndef GPUSCHED_ENGINE_EXPLAIN_H_
#define GPUSCHED_ENGINE_EXPLAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gpusched/decision/refusal.h"
#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/policy/filter/fit_filters.h"
#include "gpusched/state/state_view.h"

namespace gpusched {

// Gathers a Refusal, one node at a time.
class GPUSCHED_EXPORT RefusalBuilder {
 public:
  // Begins the next node.
  void BeginNode(NodeId node);
  // Takes one filter's answer about it.
  void Add(const Shortfall& shortfall);
  // Ends the node before the next begins, for who asks about the nearest in between.
  void EndNode();
  Refusal Finish();

  // Of the nodes that have ended: on how many filters the nearest fails (0: none was refused),
  // whether it could never take the task, and what it lacks most.
  std::uint32_t nearest_failing() const { return nearest_failing_; }
  bool nearest_never() const { return nearest_never_; }
  NodeId nearest() const { return refusal_.nearest; }
  const Shortfall& nearest_shortfall() const { return refusal_.shortfall; }

 private:
  Refusal refusal_;
  bool any_node_ = false;
  bool all_never_ = true;
  NodeId node_;
  std::uint32_t failing_ = 0;
  bool never_ = false;
  Shortfall worst_;
  std::uint32_t nearest_failing_ = 0;
  bool nearest_never_ = false;
};

// Gathers a Refusal over all nodes; `more(node, add)` adds the answers of filters beyond the
// built-in ones. O(nodes × devices).
template <class More>
Refusal ExplainNodes(const StateView& view, const Shape& shape, const More& more) {
  RefusalBuilder builder;
  for (const std::uint32_t slot : view.node_order()) {
    const NodeView node = view.node(slot);
    builder.BeginNode(node.id());
    const auto add = [&](const Shortfall& shortfall) { builder.Add(shortfall); };
    FitFilters().ForEach(node, shape, add);
    more(node, add);
  }
  return builder.Finish();
}

// The error of a policy that left its declared range.
GPUSCHED_EXPORT absl::Status ScoreOutOfRange(const ClusterState& state, std::uint32_t node_slot,
                                             Score score, ScoreRange range);

// What is lacking, e.g. "4000 cpu_milli asked, 1500 free"; empty if there is nothing to say.
GPUSCHED_EXPORT std::string ShortfallText(Reason reason, std::int64_t need, std::int64_t have);

// One line for people, e.g. "0 of 12 nodes take it: 8 NoDeviceWithRoom, 4 InsufficientCpu; nearest
// is 'n3': 500 gpu_milli of one device asked, 320 free".
// With the shape, also who is in the way of its MIG instances there.
GPUSCHED_EXPORT std::string RefusalText(const ClusterState& state, const Refusal& refusal,
                                        const Shape* shape = nullptr);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_EXPLAIN_H_
