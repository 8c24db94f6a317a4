// Fits: does a task fit a node, exactly and device by device? The one definition of feasibility.
#ifndef GPUSCHED_STATE_FIT_H_
#define GPUSCHED_STATE_FIT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gpusched/base/device_mask.h"
#include "gpusched/decision/placement.h"
#include "gpusched/export.h"
#include "gpusched/state/instance_options.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// The same as the next on a plain node (NodeView::plain) for a plain shape (Shape::plain), where
// the amounts say it all.
inline bool PlainDeviceFits(const DeviceFree& device, const Shape& shape) {
  return device.gpu_milli >= shape.gpu_milli && device.mem_mib >= shape.gpu_mem_mib &&
         ((shape.models >> device.model) & 1) != 0;
}

// Whether one device has the asked share, memory and model, and can be had in one of the ways that
// are wanted (Shape::wants); MIG instances aside.
inline bool DeviceFits(const DeviceFree& device, const Shape& shape, OfferMask wants) {
  return device.gpu_milli >= shape.gpu_milli && device.mem_mib >= shape.gpu_mem_mib &&
         (device.offers & wants & ~kOfferMig) != 0 && ((shape.models >> device.model) & 1) != 0;
}
inline bool DeviceFits(const DeviceFree& device, const Shape& shape) {
  return DeviceFits(device, shape, shape.wants());
}

// How many MIG instances one device of a node could give to the task at once: to one who asks
// memory, 1 or none.
GPUSCHED_EXPORT std::int32_t InstancesOn(const NodeView& node, std::size_t device,
                                         const Shape& shape);

// The same for a device as it would be after something.
GPUSCHED_EXPORT std::int32_t InstancesOn(const NodeView& node, std::size_t device,
                                         const DeviceFree& after, const Shape& shape);

// The devices of a node that each could take their part of the task. O(devices).
inline DeviceMask FittingDevices(const NodeView& node, const Shape& shape) {
  DeviceMask fitting;
  const OfferMask wants = shape.wants();
  const auto devices = node.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (DeviceFits(devices[i], shape, wants) ||
        ((wants & kOfferMig) != 0 && InstancesOn(node, i, shape) > 0)) {
      fitting.Insert(static_cast<int>(i));
    }
  }
  return fitting;
}

// What Fits says of the devices, on a node or for a shape that is not plain.
GPUSCHED_EXPORT bool FitsShared(const NodeView& node, const Shape& shape);

// Whether the task may come to the node, on some devices: it is not cordoned, and has room. A sum
// of free parts of several devices is no device with room.
inline bool Fits(const NodeView& node, const Shape& shape) {
  if (node.cordoned()) return false;
  if (node.cpu_free() < shape.cpu_milli || node.mem_free() < shape.mem_mib) return false;
  if (!shape.asks_gpu()) return true;
  if ((node.models() & shape.models) == 0) return false;
  if (!node.plain() || !shape.plain()) return FitsShared(node, shape);
  std::int32_t found = 0;
  for (const DeviceFree& device : node.devices()) {
    if (PlainDeviceFits(device, shape) && ++found == shape.gpu_count) return true;
  }
  return false;
}

// Whether the node has room for the task on exactly these devices and instances, cordoned or not.
GPUSCHED_EXPORT bool FitsOn(const NodeView& node, const Shape& shape, DeviceMask devices,
                            std::span<const MigInstance> instances = {});

// Whether a placement names what the shape asks, wherever it is: as many devices; or instances, by
// device and start, on the devices that are named, if a profile is asked. Says what is wrong, empty
// if nothing.
GPUSCHED_EXPORT std::string_view WrongForm(const Shape& shape, DeviceMask devices,
                                           std::span<const MigInstance> instances);

}  // namespace gpusched

#endif  // GPUSCHED_STATE_FIT_H_
