// ScoreAll: scores a batch of candidates with either kind of score.
#ifndef GPUSCHED_POLICY_SCORE_SCORE_ALL_H_
#define GPUSCHED_POLICY_SCORE_SCORE_ALL_H_

#include <cstddef>
#include <span>

#include "gpusched/policy/concepts.h"
#include "gpusched/state/state_view.h"

namespace gpusched {

// Writes out.size() == batch.candidates.size() scores.
template <PlacementScore P>
void ScoreAll(const P& policy, const Batch& batch, std::span<Score> out) {
  if constexpr (NodeScore<P>) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Candidate& candidate = batch.candidates[i];
      out[i] = policy(batch.view.node(candidate.slot), batch.shape, candidate.choice());
    }
  } else {
    policy.ScoreBatch(batch, out);
  }
}

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_SCORE_ALL_H_
