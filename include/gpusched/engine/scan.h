// PlainScan: the best candidate, found by looking at every node. The reference that every faster
// way must agree with.
#ifndef GPUSCHED_ENGINE_SCAN_H_
#define GPUSCHED_ENGINE_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpusched/policy/concepts.h"
#include "gpusched/policy/score/score_all.h"
#include "gpusched/state/fit.h"
#include "gpusched/state/state_view.h"

namespace gpusched {

// What a search found.
struct SearchResult {
  bool found = false;
  Candidate candidate;
  Score score = 0;
};

// The devices that a task takes of a node that fits it, if the score does not care which: whole
// devices by lowest index, a part of a device by the order.
inline DeviceMask ChooseDevices(const NodeView& node, const Shape& shape, DeviceOrder order) {
  DeviceMask chosen;
  if (!shape.asks_gpu()) return chosen;
  const auto devices = node.devices();
  int best = -1;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!DeviceFits(devices[i], shape)) continue;
    if (!shape.shares()) {
      chosen.Insert(static_cast<int>(i));
      if (chosen.size() == shape.gpu_count) return chosen;
    } else if (best < 0 ||
               (order == DeviceOrder::kFullestFirst &&
                devices[i].gpu_milli < devices[static_cast<std::size_t>(best)].gpu_milli)) {
      best = static_cast<int>(i);
    }
  }
  return best < 0 ? chosen : DeviceMask::Of(best);
}

// Scans with any score and filter. Keeps buffers between calls, so that a steady state allocates
// nothing; holds no other state. The winner is the highest score, then the first in node order,
// then the score's device order. O(nodes × devices).
class PlainScan {
 public:
  template <NodeFilter F, PlacementScore P>
  SearchResult Find(const StateView& view, const Shape& shape, std::uint64_t sequence,
                    const F& filter, const P& score) {
    const DeviceOrder order = DeviceOrderOf(score);
    // A device is a choice of its own only for a part of one, and only if the score looks at it.
    const bool by_device = shape.shares() && Includes(ReadsOf(score), Reads::kDevice);
    SearchResult best;
    const auto consider = [&](const NodeView& node, DeviceMask devices, Score value) {
      if (best.found) {
        if (value < best.score) return;
        if (value == best.score &&
            !(by_device && node.slot() == best.candidate.slot &&
              order == DeviceOrder::kFullestFirst &&
              LeftOn(node, devices) < LeftOn(node, best.candidate.devices))) {
          return;
        }
      }
      best = {
          .found = true, .candidate = {.slot = node.slot(), .devices = devices}, .score = value};
    };

    candidates_.clear();
    for (const std::uint32_t slot : view.node_order()) {
      const NodeView node = view.node(slot);
      if (!Fits(node, shape) || !filter(node, shape).verdict.ok()) continue;
      const auto offer = [&](DeviceMask devices) {
        if constexpr (NodeScore<P>) {
          consider(node, devices, score(node, shape, devices));
        } else {
          candidates_.push_back({.slot = slot, .devices = devices});
        }
      };
      if (!by_device) {
        offer(ChooseDevices(node, shape, order));
        continue;
      }
      for (DeviceMask rest = FittingDevices(node, shape); !rest.empty(); rest.DropFirst()) {
        offer(DeviceMask::Of(rest.First()));
      }
    }
    if constexpr (!NodeScore<P>) {
      scores_.resize(candidates_.size());
      if (candidates_.empty()) return best;
      ScoreAll(score,
               Batch{.view = view, .shape = shape, .sequence = sequence, .candidates = candidates_},
               std::span<Score>(scores_));
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate& candidate = candidates_[i];
        consider(view.node(candidate.slot), candidate.devices, scores_[i]);
      }
    }
    return best;
  }

 private:
  static std::int32_t LeftOn(const NodeView& node, DeviceMask device) {
    return node.devices()[static_cast<std::size_t>(device.First())].gpu_milli;
  }

  std::vector<Candidate> candidates_;
  std::vector<Score> scores_;
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_SCAN_H_
