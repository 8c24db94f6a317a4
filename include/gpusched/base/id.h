// Typed handles: a dense slot plus the generation of what lives in it.
//
// A handle is cheap to copy and compare, fits in a register, and goes stale (instead of pointing
// at a stranger) when its slot is reused. Handles of different things do not convert.
#ifndef GPUSCHED_BASE_ID_H_
#define GPUSCHED_BASE_ID_H_

#include <compare>
#include <cstdint>
#include <limits>

namespace gpusched {

// A handle of kind `Tag`. A default-constructed one is nobody's.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t slot = kNoSlot;
  std::uint32_t generation = 0;

  constexpr bool has_value() const { return slot != kNoSlot; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using NodeId = Id<struct NodeTag>;
using TaskId = Id<struct TaskTag>;
using JobId = Id<struct JobTag>;
// Shapes are interned for the life of a state, so their generation is always 0.
using ShapeId = Id<struct ShapeTag>;

}  // namespace gpusched

#endif  // GPUSCHED_BASE_ID_H_
