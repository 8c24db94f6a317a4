// BestOnNode: the best way to serve a task on one node.
#ifndef GPUSCHED_POLICY_SCORE_BEST_ON_NODE_H_
#define GPUSCHED_POLICY_SCORE_BEST_ON_NODE_H_

#include <cstddef>

#include "gpusched/policy/concepts.h"
#include "gpusched/state/device_choice.h"
#include "gpusched/state/fit.h"

namespace gpusched {

// Devices of a node, and what the score says of them.
struct NodeChoice {
  DeviceChoice choice;
  Score score = 0;
};

// Whether a score tells the devices of one node apart for this task: a device is a choice of its
// own only for a part of one, and only if the score looks at it.
inline bool ChoosesDevice(const Shape& shape, Reads reads) {
  return shape.shares() && Includes(reads, Reads::kDevice);
}

// Calls `offer(choice)` for each choice that is to be scored on a node that the task fits.
template <class Offer>
inline __attribute__((always_inline)) void ForEachOffer(const NodeView& node, const Shape& shape,
                                                        DeviceOrder order, bool by_device,
                                                        const Offer& offer) {
  if (!by_device) {
    offer(ChooseDevices(node, shape, order));
    return;
  }
  if (node.plain() && shape.plain()) {
    const auto devices = node.devices();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (PlainDeviceFits(devices[i], shape)) offer(DeviceMask::Of(static_cast<int>(i)));
    }
  } else {
    ForEachChoice(node, shape, offer);
  }
}

// Whether one choice on a node comes before another that scores the same and was offered first: by
// the score's device order, then by what spoils least of the MIG instances that could still be had
// (SliceLoss).
inline bool ComesBefore(const NodeView& node, const Shape& shape, DeviceOrder order,
                        const DeviceChoice& choice, const DeviceChoice& other) {
  if (node.devices().empty()) return false;  // the policy has taken the node away meanwhile
  if (order == DeviceOrder::kFullestFirst) {
    const auto left = [&](const DeviceChoice& c) {
      return node.devices()[static_cast<std::size_t>(c.devices.First())].gpu_milli;
    };
    if (left(choice) != left(other)) return left(choice) < left(other);
  }
  if (node.plain()) return false;
  return SliceLoss(node, shape, choice) < SliceLoss(node, shape, other);
}

// The choice with the highest score, ties by ComesBefore, then the first offered. The task fits the
// node. O(devices × the score).
template <NodeScore P>
NodeChoice BestOnNode(const NodeView& node, const Shape& shape, const P& score, DeviceOrder order,
                      bool by_device) {
  NodeChoice best;
  bool found = false;
  ForEachOffer(node, shape, order, by_device, [&](const DeviceChoice& choice) {
    const Score value = score(node, shape, choice);
    if (found && (value < best.score ||
                  (value == best.score && !ComesBefore(node, shape, order, choice, best.choice)))) {
      return;
    }
    best = {.choice = choice, .score = value};
    found = true;
  });
  return best;
}

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_BEST_ON_NODE_H_
