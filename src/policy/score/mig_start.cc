#include "gpusched/policy/score/mig_start.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gpusched {

Score MigStart::operator()(const NodeView& node, const Shape& shape,
                           const DeviceChoice& choice) const {
  if (node.plain()) return range().hi;
  const std::int64_t lost = SliceLoss(node, shape, choice);
  if (lost <= 0) return range().hi;
  std::int64_t whole = 0;
  for (DeviceMask rest = choice.devices; !rest.empty(); rest.DropFirst()) {
    const auto device = static_cast<std::size_t>(rest.First());
    whole += SliceValue(node, device, 0);
  }
  return static_cast<Score>(range().hi * (whole - std::min(lost, whole)) / whole);
}

}  // namespace gpusched
