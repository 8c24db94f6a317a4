// PlainScan: the best candidate, found by looking at every node. The reference that every faster
// way must agree with.
#ifndef GPUSCHED_ENGINE_SCAN_H_
#define GPUSCHED_ENGINE_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpusched/decision/decision.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/policy/score/best_on_node.h"
#include "gpusched/policy/score/score_all.h"
#include "gpusched/state/device_choice.h"
#include "gpusched/state/fit.h"
#include "gpusched/state/state_view.h"

namespace gpusched {

// What a search found.
struct SearchResult {
  bool found = false;
  Candidate candidate;
  Score score = 0;
  DecisionPath path = DecisionPath::kScan;
};

// Scans with any score and filter. Keeps buffers between calls, so that a steady state allocates
// nothing; holds no other state. The winner is the highest score, then the first in node order,
// then the score's device order, then what spoils least of the MIG instances that could still be
// had (SliceLoss). O(nodes × devices).
class PlainScan {
 public:
  template <NodeFilter F, PlacementScore P>
  SearchResult Find(const StateView& view, const Shape& shape, std::uint64_t sequence,
                    const F& filter, const P& score) {
    return FindAmong(view, shape, sequence, filter, score, [&](const auto& visit) {
      for (const std::uint32_t slot : view.node_order()) {
        if (Fits(view.node(slot), shape)) visit(slot);
      }
    });
  }

  // The same, where somebody else knows which nodes the shape fits: `fitting(visit)` calls
  // visit(slot) for each of them, in node order.
  template <NodeFilter F, PlacementScore P, class Fitting>
  SearchResult FindAmong(const StateView& view, const Shape& shape, std::uint64_t sequence,
                         const F& filter, const P& score, const Fitting& fitting) {
    const DeviceOrder order = DeviceOrderOf(score);
    const bool by_device = ChoosesDevice(shape, ReadsOf(score));
    SearchResult best;
    const auto consider = [&](const NodeView& node, const DeviceChoice& choice, Score value) {
      if (best.found) {
        if (value < best.score) return;
        if (value == best.score &&
            !(by_device && node.slot() == best.candidate.slot &&
              ComesBefore(node, shape, order, choice, best.candidate.choice()))) {
          return;
        }
      }
      best = {.found = true,
              .candidate = {.slot = node.slot(),
                            .devices = choice.devices,
                            .instance = choice.instance},
              .score = value};
    };

    candidates_.clear();
    fitting([&](std::uint32_t slot) {
      const NodeView node = view.node(slot);
      if (!filter(node, shape).verdict.ok()) return;
      // Inlined at each use: it is the innermost loop of a scan.
      ForEachOffer(
          node, shape, order,
          by_device, [&](const DeviceChoice& choice) __attribute__((always_inline)) {
            if constexpr (NodeScore<P>) {
              consider(node, choice, score(node, shape, choice));
            } else {
              candidates_.push_back(
                  {.slot = slot, .devices = choice.devices, .instance = choice.instance});
            }
          });
    });
    if constexpr (!NodeScore<P>) {
      scores_.resize(candidates_.size());
      if (candidates_.empty()) return best;
      ScoreAll(score,
               Batch{.view = view, .shape = shape, .sequence = sequence, .candidates = candidates_},
               std::span<Score>(scores_));
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (best.found && scores_[i] < best.score) continue;
        const Candidate& candidate = candidates_[i];
        consider(view.node(candidate.slot), candidate.choice(), scores_[i]);
      }
    }
    return best;
  }

 private:
  std::vector<Candidate> candidates_;
  std::vector<Score> scores_;
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_SCAN_H_
