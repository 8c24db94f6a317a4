// Random: any node that fits, each with the same chance.
#ifndef GPUSCHED_POLICY_SCORE_RANDOM_H_
#define GPUSCHED_POLICY_SCORE_RANDOM_H_

#include <cstdint>
#include <span>

#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"

namespace gpusched {

// Draws one node, and on it one device with room, from (seed, sequence of the decision) and scores
// it 1, everything else 0. The same seed and sequence draw the same. Range [0, 1].
struct GPUSCHED_EXPORT Random {
  std::uint64_t seed = 0;

  static constexpr Reads kReads = Reads::kDevice | Reads::kCluster | Reads::kSequence;
  static constexpr ScoreRange range() { return {0, 1}; }

  void ScoreBatch(const Batch& batch, std::span<Score> out) const;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_RANDOM_H_
