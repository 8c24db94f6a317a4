#include "gpusched/policy/score/gpu_packing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpusched/base/quantity.h"

namespace gpusched {

Score GpuPacking::operator()(const NodeView& node, const Shape& shape, DeviceMask devices) const {
  if (!shape.asks_gpu()) return 0;
  const auto whole_free = static_cast<Score>(node.whole_free());
  if (node.whole_free() == node.devices().size()) {
    // Machines of over 50 devices would leave the published scale.
    return std::min(std::max(33 - whole_free, whole_free), range().hi);
  }
  // The fullest-first order among devices already picked what has least left.
  Score whole_taken = 0;
  std::int64_t left = 0;
  for (; !devices.empty(); devices.DropFirst()) {
    const DeviceFree& device = node.devices()[static_cast<std::size_t>(devices.First())];
    if (device.gpu_milli == kMilli) ++whole_taken;
    left += std::int64_t{device.gpu_milli} * 100 / kMilli;
  }
  if (whole_taken > 0) return std::max(50 - whole_taken, 33);
  return static_cast<Score>(std::max<std::int64_t>(100 - left / 10, 50));
}

}  // namespace gpusched
