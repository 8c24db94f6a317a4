// Fits: does a task fit a node, exactly and device by device? The one definition of feasibility.
#ifndef GPUSCHED_STATE_FIT_H_
#define GPUSCHED_STATE_FIT_H_

#include <cstddef>
#include <cstdint>

#include "gpusched/base/device_mask.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// Whether one device has the asked share, memory and model. A whole device is asked as 1000 of
// 1000 milli, so it is free only if nobody has any part of it.
inline bool DeviceFits(const DeviceFree& device, const Shape& shape) {
  return device.gpu_milli >= shape.gpu_milli && device.mem_mib >= shape.gpu_mem_mib &&
         ((shape.models >> device.model) & 1) != 0;
}

// The devices of a node that each could take their part of the task. O(devices).
inline DeviceMask FittingDevices(const NodeView& node, const Shape& shape) {
  DeviceMask fitting;
  const auto devices = node.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (DeviceFits(devices[i], shape)) fitting.Insert(static_cast<int>(i));
  }
  return fitting;
}

// Whether the task may come to the node, on some devices: it is not cordoned, and has room. A sum
// of free parts of several devices is no device with room.
inline bool Fits(const NodeView& node, const Shape& shape) {
  if (node.cordoned()) return false;
  if (node.cpu_free() < shape.cpu_milli || node.mem_free() < shape.mem_mib) return false;
  if (!shape.asks_gpu()) return true;
  if ((node.models() & shape.models) == 0) return false;
  std::int32_t found = 0;
  for (const DeviceFree& device : node.devices()) {
    if (DeviceFits(device, shape) && ++found == shape.gpu_count) return true;
  }
  return false;
}

// Whether the node has room for the task on exactly these devices, cordoned or not.
inline bool FitsOn(const NodeView& node, const Shape& shape, DeviceMask devices) {
  if (node.cpu_free() < shape.cpu_milli || node.mem_free() < shape.mem_mib) return false;
  if (devices.size() != shape.gpu_count) return false;
  const auto free = node.devices();
  for (; !devices.empty(); devices.DropFirst()) {
    const auto device = static_cast<std::size_t>(devices.First());
    if (device >= free.size() || !DeviceFits(free[device], shape)) return false;
  }
  return true;
}

}  // namespace gpusched

#endif  // GPUSCHED_STATE_FIT_H_
