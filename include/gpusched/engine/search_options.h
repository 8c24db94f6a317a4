// SearchOptions: how the best node is looked for; the answer is the same.
#ifndef GPUSCHED_ENGINE_SEARCH_OPTIONS_H_
#define GPUSCHED_ENGINE_SEARCH_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpusched/policy/lane_mask.h"

namespace gpusched {

enum class SearchPath : std::uint8_t {
  kAuto,     // what is likely to be fastest: the index if it can be had and there are nodes enough
  kScan,     // look at every node, keep nothing between decisions
  kIndex,    // the index however few nodes there are, if the score depends on the node alone; where
             // it knows no answer, columns
  kColumns,  // find out in narrow columns which nodes fit, and score them
};

// The path of this name: "auto", "scan", "index", "columns"; nothing for any other.
constexpr std::optional<SearchPath> SearchPathNamed(std::string_view name) {
  if (name == "auto") return SearchPath::kAuto;
  if (name == "scan") return SearchPath::kScan;
  if (name == "index") return SearchPath::kIndex;
  if (name == "columns") return SearchPath::kColumns;
  return std::nullopt;
}

struct SearchOptions {
  SearchPath path = SearchPath::kAuto;
  // Shapes that the index keeps scores of at the same time; up to kMaxLanes. Memory of the index is
  // a byte or two for each of them a node.
  std::size_t max_lanes = kMaxLanes;
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_SEARCH_OPTIONS_H_
