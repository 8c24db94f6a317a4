#include "gpusched/policy/score/random.h"

#include <algorithm>
#include <cstddef>

#include "gpusched/base/rng.h"

namespace gpusched {

void Random::ScoreBatch(const Batch& batch, std::span<Score> out) const {
  std::fill(out.begin(), out.end(), 0);
  const auto candidates = batch.candidates;
  std::uint64_t nodes = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i == 0 || candidates[i].slot != candidates[i - 1].slot) ++nodes;
  }
  if (nodes == 0) return;

  Rng rng(Mix64(seed) ^ batch.sequence);
  std::uint64_t skip = rng.Below(nodes);
  std::size_t first = 0;
  while (skip > 0) {
    ++first;
    if (candidates[first].slot != candidates[first - 1].slot) --skip;
  }
  std::size_t end = first + 1;
  while (end < candidates.size() && candidates[end].slot == candidates[first].slot) ++end;
  out[first + static_cast<std::size_t>(rng.Below(end - first))] = 1;
}

}  // namespace gpusched
