// HoldTable: capacity that is kept for somebody, until when.
#ifndef GPUSCHED_STATE_HOLD_TABLE_H_
#define GPUSCHED_STATE_HOLD_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpusched/base/id.h"
#include "gpusched/base/time.h"
#include "gpusched/decision/placement.h"

namespace gpusched {

// As much as one task of `shape` would take there; counted in the `held` columns of the node.
struct Hold {
  std::string name;
  std::string owner;  // the job that it is kept for
  ShapeId shape;
  Placement placement;
  Time until = kNoDeadline;
};

// Few at a time, so a list in order of creation. Lookups are O(holds).
class HoldTable {
 public:
  const std::vector<Hold>& list() const { return list_; }

  std::optional<std::size_t> Find(std::string_view name) const {
    const auto it = std::find_if(list_.begin(), list_.end(),
                                 [&](const Hold& hold) { return hold.name == name; });
    if (it == list_.end()) return std::nullopt;
    return static_cast<std::size_t>(it - list_.begin());
  }

  // --- writing (Transaction only) ------------------------------------------------------------
  void Insert(std::size_t position, Hold hold) {
    list_.insert(list_.begin() + static_cast<std::ptrdiff_t>(position), std::move(hold));
  }
  Hold Remove(std::size_t position) {
    Hold hold = std::move(list_[position]);
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(position));
    return hold;
  }

 private:
  std::vector<Hold> list_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_HOLD_TABLE_H_
