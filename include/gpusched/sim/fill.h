// RunFill: the fill experiment: tasks arrive until the cluster is over-full; how much is sold?
#ifndef GPUSCHED_SIM_FILL_H_
#define GPUSCHED_SIM_FILL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/base/verdict.h"
#include "gpusched/decision/decision.h"
#include "gpusched/engine/search_options.h"
#include "gpusched/export.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/score/norms.h"
#include "gpusched/sim/workload.h"

namespace gpusched {

struct FillOptions {
  std::uint64_t seed = 1;
  double to = 1.3;  // requested GPUs over capacity at which arrivals stop; 0.01 to 100
  ScoreNorms norms;
  bool keep_placements = false;
  SearchOptions search = {};  // how places are looked for; placements are the same
  // Called now and then with (arrivals decided, arrivals in all); false stops the run, which then
  // answers kCancelled.
  std::function<bool(std::int64_t, std::int64_t)> progress;
};

// One arrival and what became of it, in arrival order.
struct FillPlacement {
  std::int64_t sequence = 0;
  std::string pod;
  ShapeSpec shape;
  std::string node;  // empty: dropped
  DeviceMask devices;
};

// Nanoseconds of decide + commit over all arrivals.
struct LatencyNs {
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

struct FillResult {
  std::string policy;
  std::uint64_t seed = 0;
  // At which arrived demand (GPUs requested so far, % of capacity) the two rows below are taken:
  // 50, 80, 90, then every 5 up to `to`, and `to` itself.
  std::vector<double> arrived_pct;
  std::vector<double> allocated_pct;  // GPUs allocated, % of capacity
  std::vector<double>
      fragmentation_pct;  // idle GPUs of no use to the workload, % of idle (FGD's F)
  std::int64_t placed = 0;
  std::array<std::int64_t, kReasons> failed{};  // by dominant reason
  std::int64_t decisions = 0;
  PathCounts paths{};  // decisions by the way in which they were computed
  double seconds = 0;  // of all decisions and commits
  LatencyNs latency;
  std::uint64_t placements_digest = 0;
  std::uint64_t state_hash = 0;           // at the end
  std::vector<FillPlacement> placements;  // if asked
};

// The protocol of Weng et al., ATC 2023, section 6.2. Pods are sorted by name and shuffled by seed;
// uniform random clones of them (named `<pod>#<k>`, k counting clones) follow until the requested
// GPUs reach `to` × capacity, where arrivals stop. One arrives at a time, none leaves; one that
// does not fit is dropped for good. Nodes are sorted by name and shuffled by seed: the order in
// which ties fall. Fgd's target, and what fragmentation is measured against, is the pods' own
// distribution (TargetWorkload). Equal arguments give equal placements everywhere.
//
// Errors: kNotFound (policy), kInvalidArgument (options; pods without GPU, with a name that a clone
// could get, or so small that over 10,000,000 would have to arrive), kFailedPrecondition (pods that
// ask GPUs on a cluster without any), kCancelled.
GPUSCHED_EXPORT absl::StatusOr<FillResult> RunFill(const Workload& workload,
                                                   std::string_view policy,
                                                   const ScoreRegistry& registry,
                                                   const FillOptions& options);

}  // namespace gpusched

#endif  // GPUSCHED_SIM_FILL_H_
