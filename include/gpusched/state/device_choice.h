// DeviceChoice: which devices of a node a task would take, and how it is chosen when no score
// cares.
#ifndef GPUSCHED_STATE_DEVICE_CHOICE_H_
#define GPUSCHED_STATE_DEVICE_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/decision/placement.h"
#include "gpusched/export.h"
#include "gpusched/state/fit.h"
#include "gpusched/state/instance_options.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// Devices, and for a task that has one MIG instance, which one. Several instances of one task are
// not a choice: they go where ChooseInstances says. Converts to and from a plain set of devices.
struct DeviceChoice {
  DeviceMask devices;
  InstanceOption instance = {};

  constexpr DeviceChoice() = default;
  constexpr DeviceChoice(DeviceMask mask) : devices(mask) {}  // NOLINT(google-explicit-constructor)
  constexpr DeviceChoice(int device, InstanceOption option)
      : devices(DeviceMask::Of(device)), instance(option) {}
  constexpr operator DeviceMask() const { return devices; }  // NOLINT(google-explicit-constructor)

  friend constexpr bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

// Which device of a node is taken among those that score the same.
enum class DeviceOrder : std::uint8_t {
  kFullestFirst,  // the one with least free, then the lowest index
  kLowestIndex,
};

// Calls `visit(choice)` for each way to serve one who asks a part of one device (Shape::shares):
// devices by index, each as a share and as the MIG instances that it could give.
template <class Visitor>
void ForEachChoice(const NodeView& node, const Shape& shape, Visitor&& visit) {
  const auto devices = node.devices();
  const OfferMask wants = shape.wants();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (DeviceFits(devices[i], shape, wants)) {
      visit(DeviceChoice(DeviceMask::Of(static_cast<int>(i))));
    }
    if ((devices[i].offers & wants & kOfferMig) == 0) continue;
    if (((shape.models >> devices[i].model) & 1) == 0) continue;
    const int profile =
        shape.asks_profile() ? node.mig().ProfileIn(devices[i].model, shape.profile) : -1;
    if (shape.asks_profile() && profile < 0) continue;
    ForEachInstance(
        {.free = devices[i], .ledger = node.device_ledgers()[i], .geometry = *node.geometry(i)},
        shape, profile, [&](InstanceOption option) {
          visit(DeviceChoice(static_cast<int>(i), option));
          return true;
        });
  }
}

// As ChooseDevices, on a node or for a shape that is not plain.
GPUSCHED_EXPORT DeviceChoice ChooseShared(const NodeView& node, const Shape& shape,
                                          DeviceOrder order);

// Where a task goes on a node that it fits, if the score does not look at devices. On a plain node:
// whole devices by lowest index, a share by the order. Else what spoils least of the MIG instances
// that the node could still have (SliceValue), then by the order. O(devices × starts).
inline DeviceChoice ChooseDevices(const NodeView& node, const Shape& shape, DeviceOrder order) {
  DeviceMask chosen;
  if (!shape.asks_gpu()) return chosen;
  if (!node.plain() || !shape.plain()) return ChooseShared(node, shape, order);
  const auto devices = node.devices();
  int best = -1;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!PlainDeviceFits(devices[i], shape)) continue;
    if (!shape.shares()) {
      chosen.Insert(static_cast<int>(i));
      if (chosen.size() == shape.gpu_count) return chosen;
    } else if (best < 0 ||
               (order == DeviceOrder::kFullestFirst &&
                devices[i].gpu_milli < devices[static_cast<std::size_t>(best)].gpu_milli)) {
      best = static_cast<int>(i);
    }
  }
  return best < 0 ? chosen : DeviceMask::Of(best);
}

// The instances of a task that asks several, by device and start: each in turn where it spoils
// least, then on the lowest device and start. The task fits the node.
GPUSCHED_EXPORT std::vector<MigInstance> ChooseInstances(const NodeView& node, const Shape& shape);

// The placement on a live node that a choice stands for.
GPUSCHED_EXPORT Placement PlacementOf(const NodeView& node, const Shape& shape,
                                      const DeviceChoice& choice);

// How much of the device's slices is good for further instances, and would be if these slices were
// occupied: MigGeometry::Value of what can be made on demand, and a unit for each free fixed
// partition. 0 where no instance can be placed.
GPUSCHED_EXPORT std::int32_t SliceValue(const NodeView& node, std::size_t device,
                                        SliceMask occupied);
inline std::int32_t SliceValue(const NodeView& node, std::size_t device) {
  return SliceValue(node, device, node.devices()[device].occupied);
}

// What a choice takes of that, over all of its devices.
GPUSCHED_EXPORT std::int32_t SliceLoss(const NodeView& node, const Shape& shape,
                                       const DeviceChoice& choice);

// What a device would have free after the choice; it is one of the choice's devices.
GPUSCHED_EXPORT DeviceFree FreeAfter(const NodeView& node, std::size_t device, const Shape& shape,
                                     const DeviceChoice& choice);

// How much less GPU-milli the node would have free after the choice.
GPUSCHED_EXPORT std::int64_t MilliTakenShared(const NodeView& node, const Shape& shape,
                                              const DeviceChoice& choice);
inline std::int64_t MilliTaken(const NodeView& node, const Shape& shape,
                               const DeviceChoice& choice) {
  if (node.plain() && shape.plain()) return shape.gpu_milli_total();
  return MilliTakenShared(node, shape, choice);
}

}  // namespace gpusched

#endif  // GPUSCHED_STATE_DEVICE_CHOICE_H_
