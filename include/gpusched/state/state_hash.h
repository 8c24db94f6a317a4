// StateHash: one number for what is true, whatever the way it came about.
#ifndef GPUSCHED_STATE_STATE_HASH_H_
#define GPUSCHED_STATE_STATE_HASH_H_

#include <cstdint>

#include "gpusched/export.h"

namespace gpusched {

class ClusterState;

// Covers the live content by name: nodes and devices with capacity, held and foreign amounts,
// placed tasks with shape and place, jobs with what they wish and how their tasks stand, holds, the
// time. Slots, generations, order of insertion, interned shapes and derived columns do not count,
// so two histories that end in the same truth give the same number. O(nodes + tasks + jobs).
GPUSCHED_EXPORT std::uint64_t StateHash(const ClusterState& state);

}  // namespace gpusched

#endif  // GPUSCHED_STATE_STATE_HASH_H_
