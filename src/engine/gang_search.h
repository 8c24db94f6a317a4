// GangSearch: places for several tasks at once, or none.
#ifndef GPUSCHED_SRC_ENGINE_GANG_SEARCH_H_
#define GPUSCHED_SRC_ENGINE_GANG_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/decision/refusal.h"
#include "gpusched/engine/placer.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"

namespace gpusched {

// Some identical tasks.
struct Demand {
  JobId job;
  std::uint32_t group = 0;
  ShapeId shape_id;
  Shape shape;                         // that of shape_id, perhaps on fewer models
  std::vector<std::uint32_t> indices;  // pending ones, in order
  std::string blocked_by;              // the older job that keeps it off the other models
};

// Whether `a` is placed before `b`: GPUs, then device memory, CPU, memory of one task.
bool IsLarger(const Demand& a, const Demand& b);

// Where one task of a demand goes.
struct GangPlacement {
  std::uint32_t demand = 0;
  Placement placement;
  std::int32_t score = 0;
};

struct GangResult {
  bool found = false;
  std::vector<GangPlacement> placements;
  // If not found: the first demand of which a task had no place, when choices were still the best
  // ones; how many of its tasks and of all had been placed then; and why the next one was not.
  std::uint32_t failing = 0;
  std::int64_t placed_of_demand = 0;
  std::int64_t placed_of_all = 0;
  Refusal refusal;
  bool limit_reached = false;
};

// How often the score was asked, and how often it may be.
struct SearchBudget {
  std::uint64_t next = 0;  // number of the next search; what policies that draw at random read
  std::uint64_t end = 0;
};

// Places the demands in the given order (largest first), each task on its best node. If a task
// finds no place, the last choice that could matter is taken back and its node left out. Identical
// tasks are not permuted: once all with one of them on a node has been tried, the others of its
// kind stay off that node too. Finds a way if there is one, within the budget and but for the
// choice of devices inside a node. Leaves the state as it was.
absl::StatusOr<GangResult> SearchGang(const ClusterState& state, Transaction& transaction,
                                      Placer& placer, const std::vector<Demand>& demands,
                                      SearchBudget& budget);

}  // namespace gpusched

#endif  // GPUSCHED_SRC_ENGINE_GANG_SEARCH_H_
