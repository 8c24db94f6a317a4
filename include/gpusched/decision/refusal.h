// Refusal: why a task found no node, with numbers.
#ifndef GPUSCHED_DECISION_REFUSAL_H_
#define GPUSCHED_DECISION_REFUSAL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpusched/base/id.h"
#include "gpusched/base/verdict.h"

namespace gpusched {

// What one node lacks for one task, in the unit of the reason: cpu_milli, mem_mib, milli or
// gpu_mem_mib of the best allowed device, whole devices, or MIG instances. `need` and `have` are 0
// where no number applies.
struct Shortfall {
  Verdict verdict;
  std::int64_t need = 0;
  std::int64_t have = 0;
};

// The account of a decision that found no node. A node is counted under each filter that refused
// it, so the counts can add up to more than the number of nodes.
struct Refusal {
  std::array<std::uint32_t, kReasons> nodes_by_reason{};
  // kNever only if every node says so: no release will help, only another cluster or request.
  Outcome outcome = Outcome::kWait;
  // The node that came nearest: it fails on the fewest filters, then by the smallest share of what
  // is needed, then it is one that could take the task when empty, then it comes first in node
  // order. Its shortfall is the dominant reason.
  NodeId nearest;
  Shortfall shortfall;

  std::uint32_t count(Reason reason) const {
    return nodes_by_reason[static_cast<std::size_t>(reason)];
  }
  Reason dominant() const { return shortfall.verdict.reason; }
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_REFUSAL_H_
