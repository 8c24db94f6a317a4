// BlockedStart: who stands where a MIG instance would have to be.
#ifndef GPUSCHED_ENGINE_BLOCKED_STARTS_H_
#define GPUSCHED_ENGINE_BLOCKED_STARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// One who is in the way: a task or a hold.
struct StartBlocker {
  std::string name;     // of the task, or of the hold
  std::string profile;  // of its instance; empty: it has no instance, but the device
  std::int32_t start = 0;

  friend bool operator==(const StartBlocker&, const StartBlocker&) = default;
};

// A legal start of the asked profile on a device, and those whose slices it would need.
struct BlockedStart {
  std::int32_t device = 0;
  std::int32_t start = 0;
  std::vector<StartBlocker> by;

  friend bool operator==(const BlockedStart&, const BlockedStart&) = default;
};

// For a shape that asks a profile: the starts on a live node's devices that are legal and taken, by
// device and start. Empty where nobody is in the way: the model or the device has no such start.
// O(devices × starts × tasks on the node).
GPUSCHED_EXPORT std::vector<BlockedStart> BlockedStarts(const ClusterState& state, NodeId node,
                                                        const Shape& shape);

// For people, the first few: "device 0: start 0 is taken by 'a' (1g.5gb at 0) and 'b' (1g.5gb at
// 1), start 4 is taken by 'c' (1g.5gb at 5)".
GPUSCHED_EXPORT std::string BlockedStartsText(const std::vector<BlockedStart>& starts);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_BLOCKED_STARTS_H_
