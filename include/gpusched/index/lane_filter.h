// LaneFilter: which of many shapes fit a node, all at once.
#ifndef GPUSCHED_INDEX_LANE_FILTER_H_
#define GPUSCHED_INDEX_LANE_FILTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/quantity.h"
#include "gpusched/export.h"
#include "gpusched/policy/lane_mask.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// Answers as Fits does, for each lane. On a plain node of one model a request is a set of lower
// bounds, so the lanes that pass one of them are a table by what is free, and those that fit are
// what the tables have in common. Elsewhere, and for shapes that ask more than shares and whole
// devices, Fits itself is asked about what is left.
class GPUSCHED_EXPORT LaneFilter {
 public:
  // From now on the lane stands for this shape. O(lanes²).
  void SetLane(std::size_t lane, const Shape& shape);
  const Shape& shape(std::size_t lane) const { return shapes_[lane]; }
  std::size_t lanes() const { return shapes_.size(); }

  // O(devices + log lanes) on a plain node of one model, else O(devices · lanes).
  LaneMask Fit(const NodeView& node) const;

 private:
  // Lanes whose request is at most an amount: entry i of the masks is for amounts from
  // bounds[i − 1] on.
  struct Bounds {
    std::vector<std::int64_t> bounds;  // ascending
    std::vector<LaneMask> masks;       // one more than bounds
    // Bounds are multiples of the quantum; the entry by how many quanta there are. Empty: they are
    // too many.
    std::int64_t quantum = 1;
    std::vector<std::uint16_t> entry;

    void Build(const std::vector<std::int64_t>& requests);
    const LaneMask& UpTo(std::int64_t amount) const;
  };

  void Build();

  std::vector<Shape> shapes_;
  Bounds cpu_, mem_;
  std::array<std::uint16_t, kMilli + 1> part_step_{};  // by milli left, an index in part_masks_
  std::vector<LaneMask> part_masks_;
  std::array<LaneMask, kMaxDevicesPerNode + 1> whole_{};  // by devices that are wholly free
  std::array<LaneMask, kMaxModels> models_{};
  LaneMask no_gpu_;
  LaneMask checked_;  // ask Fits about them
};

}  // namespace gpusched

#endif  // GPUSCHED_INDEX_LANE_FILTER_H_
