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
  kAuto,   // the index, if the score depends on the node alone and there are nodes enough
  kScan,   // look at every node, keep nothing between decisions
  kIndex,  // the index however few nodes there are, if the score depends on the node alone
};

// The path of this name: "auto", "scan", "index"; nothing for any other.
constexpr std::optional<SearchPath> SearchPathNamed(std::string_view name) {
  if (name == "auto") return SearchPath::kAuto;
  if (name == "scan") return SearchPath::kScan;
  if (name == "index") return SearchPath::kIndex;
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
