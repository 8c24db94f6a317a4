// JobFilter: what a job allows beyond its shape: tasks per node, company, and who else minds.
#ifndef GPUSCHED_POLICY_FILTER_JOB_FILTER_H_
#define GPUSCHED_POLICY_FILTER_JOB_FILTER_H_

#include <cstdint>
#include <span>

#include "gpusched/decision/refusal.h"
#include "gpusched/export.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"
#include "gpusched/state/state_view.h"

namespace gpusched {

// A NodeFilter for one task of one group. It looks at the tasks that are on the node now, so in a
// gang it sees those that were placed before. Default-constructed, it lets everything pass. Valid
// until the state's jobs change. O(tasks on the node) where it has something to ask, else O(1).
class GPUSCHED_EXPORT JobFilter {
 public:
  JobFilter() = default;
  JobFilter(const StateView& view, JobId job, std::uint32_t group);

  // Leaves these nodes out, for asking after the next best. The caller keeps the list alive.
  void Exclude(std::span<const std::uint32_t> nodes) { excluded_ = nodes; }

  // Whether an answer depends on more than node and shape.
  bool asks() const { return limit_ > 0 || company_; }

  // Whether every node passes.
  bool passes_all() const { return !asks() && excluded_.empty(); }

  Shortfall operator()(const NodeView& node, const Shape& shape) const;

 private:
  Shortfall CheckCompany(const NodeView& node) const;

  const ClusterState* state_ = nullptr;
  JobId job_;
  std::uint32_t group_ = 0;
  std::int64_t limit_ = 0;  // tasks of the group per node; 0: none
  bool company_ = false;    // somebody has affinities to ask for
  std::span<const std::uint32_t> excluded_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_FILTER_JOB_FILTER_H_
