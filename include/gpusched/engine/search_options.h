// SearchOptions: how the best node is looked for; the answer is the same.
#ifndef GPUSCHED_ENGINE_SEARCH_OPTIONS_H_
#define GPUSCHED_ENGINE_SEARCH_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "gpusched/policy/lane_mask.h"

namespace gpusched {

enum class SearchPath : std::uint8_t {
  kAuto,   // the index, if the score depends on the node alone and there are nodes enough
  kScan,   // look at every node, keep nothing between decisions
  kIndex,  // the index however few nodes there are, if the score depends on the node alone
};

struct SearchOptions {
  SearchPath path = SearchPath::kAuto;
  // Shapes that the index keeps scores of at the same time; up to kMaxLanes. Memory of the index is
  // a byte or two for each of them a node.
  std::size_t max_lanes = kMaxLanes;
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_SEARCH_OPTIONS_H_
