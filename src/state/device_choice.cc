#include "gpusched/state/device_choice.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace gpusched {
namespace {

SliceMask FootprintOf(const NodeView& node, std::size_t device, InstanceOption option) {
  return node.geometry(device)->Footprint(static_cast<std::size_t>(option.profile), option.start);
}

// Whole devices: those that MIG instances can't be had of anyhow, then by index.
DeviceMask ChooseWhole(const NodeView& node, const Shape& shape) {
  std::vector<std::pair<std::int32_t, int>> fitting;
  for (DeviceMask rest = FittingDevices(node, shape); !rest.empty(); rest.DropFirst()) {
    fitting.emplace_back(SliceValue(node, static_cast<std::size_t>(rest.First())), rest.First());
  }
  std::sort(fitting.begin(), fitting.end());
  DeviceMask chosen;
  for (const auto& [value, device] : fitting) {
    if (chosen.size() < shape.gpu_count) chosen.Insert(device);
  }
  return chosen;
}

MigInstance Named(const NodeView& node, std::size_t device, InstanceOption option) {
  return {.device = static_cast<std::int32_t>(device),
          .profile = node.geometry(device)->profile(static_cast<std::size_t>(option.profile)).name,
          .start = option.start};
}

}  // namespace

DeviceChoice ChooseShared(const NodeView& node, const Shape& shape, DeviceOrder order) {
  if (shape.gpu_count > 1 && shape.asks_profile()) {
    DeviceMask devices;
    for (const MigInstance& instance : ChooseInstances(node, shape)) {
      devices.Insert(instance.device);
    }
    return devices;
  }
  if (!shape.shares()) return ChooseWhole(node, shape);

  DeviceChoice best;
  std::tuple<std::int32_t, std::int32_t> best_key;
  ForEachChoice(node, shape, [&](const DeviceChoice& choice) {
    const auto device = static_cast<std::size_t>(choice.devices.First());
    const std::tuple key(SliceLoss(node, shape, choice), order == DeviceOrder::kFullestFirst
                                                             ? node.devices()[device].gpu_milli
                                                             : 0);
    if (!best.devices.empty() && key >= best_key) return;
    best = choice;
    best_key = key;
  });
  return best;
}

std::vector<MigInstance> ChooseInstances(const NodeView& node, const Shape& shape) {
  struct Device {
    DeviceLedger ledger;
    DeviceFree free;
    bool open = true;
  };
  std::vector<Device> devices;
  for (std::size_t i = 0; i < node.devices().size(); ++i) {
    devices.push_back({.ledger = node.device_ledgers()[i], .free = node.devices()[i]});
  }
  std::vector<MigInstance> chosen;
  while (static_cast<std::int32_t>(chosen.size()) < shape.gpu_count) {
    std::int32_t least = 0;
    std::size_t on = devices.size();
    InstanceOption best;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Device& device = devices[i];
      const MigGeometry* const geometry = node.geometry(i);
      if (!device.open || geometry == nullptr || ((shape.models >> device.free.model) & 1) == 0) {
        continue;
      }
      const int profile = node.mig().ProfileIn(device.free.model, shape.profile);
      if (profile < 0) continue;
      const SliceMask occupied = device.free.occupied;
      ForEachInstance(
          {.free = device.free, .ledger = device.ledger, .geometry = *geometry}, shape, profile,
          [&](InstanceOption option) {
            const auto after = static_cast<SliceMask>(occupied | FootprintOf(node, i, option));
            const std::int32_t loss = SliceValue(node, i, occupied) - SliceValue(node, i, after);
            if (!best.has_value() || loss < least) {
              best = option;
              least = loss;
              on = i;
            }
            return true;
          });
    }
    if (!best.has_value()) break;  // it does not fit
    chosen.push_back(Named(node, on, best));
    Device& device = devices[on];
    const MigGeometry* const geometry = node.geometry(on);
    AddTake(TakeOf(device.ledger, geometry, shape, &chosen.back()), device.ledger, geometry, 1,
            device.ledger.used, device.ledger.used_by);
    device.free = FreeOf(device.ledger, device.free.model, geometry);
    if (shape.distinct_devices) device.open = false;
  }
  std::sort(chosen.begin(), chosen.end(), Before);
  return chosen;
}

Placement PlacementOf(const NodeView& node, const Shape& shape, const DeviceChoice& choice) {
  Placement placement{.node = node.id(), .devices = choice.devices, .instances = {}};
  if (choice.instance.has_value()) {
    placement.instances.push_back(
        Named(node, static_cast<std::size_t>(choice.devices.First()), choice.instance));
  } else if (shape.asks_profile()) {
    placement.instances = ChooseInstances(node, shape);
  }
  return placement;
}

std::int32_t SliceValue(const NodeView& node, std::size_t device, SliceMask occupied) {
  const DeviceFree& free = node.devices()[device];
  if ((free.offers & kOfferMig) == 0) return 0;
  const DeviceLedger& ledger = node.device_ledgers()[device];
  const MigGeometry& geometry = *node.geometry(device);
  std::int32_t value = 0;
  for (const FixedPartitions::Entry entry : ledger.fixed.list()) {
    if ((geometry.Footprint(entry.profile, entry.start) & occupied) == 0) {
      value += geometry.Unit(entry.profile);
    }
  }
  if (ledger.partition_on_demand) {
    value += geometry.Value(static_cast<SliceMask>(occupied | ledger.fixed.slices));
  }
  return value;
}

std::int32_t SliceLoss(const NodeView& node, const Shape& shape, const DeviceChoice& choice) {
  std::int32_t loss = 0;
  if (choice.instance.has_value()) {
    const auto device = static_cast<std::size_t>(choice.devices.First());
    const SliceMask before = node.devices()[device].occupied;
    return SliceValue(node, device) -
           SliceValue(node, device,
                      static_cast<SliceMask>(before | FootprintOf(node, device, choice.instance)));
  }
  if (shape.asks_profile()) {
    for (DeviceMask rest = choice.devices; !rest.empty(); rest.DropFirst()) {
      const auto device = static_cast<std::size_t>(rest.First());
      const DeviceFree after = FreeAfter(node, device, shape, choice);
      loss += SliceValue(node, device) - SliceValue(node, device, after.occupied);
    }
    return loss;
  }
  // Whoever comes without an instance keeps instances off.
  for (DeviceMask rest = choice.devices; !rest.empty(); rest.DropFirst()) {
    loss += SliceValue(node, static_cast<std::size_t>(rest.First()));
  }
  return loss;
}

DeviceFree FreeAfter(const NodeView& node, std::size_t device, const Shape& shape,
                     const DeviceChoice& choice) {
  DeviceLedger ledger = node.device_ledgers()[device];
  const MigGeometry* const geometry = node.geometry(device);
  const auto take = [&](const MigInstance* instance) {
    AddTake(TakeOf(ledger, geometry, shape, instance), ledger, geometry, 1, ledger.used,
            ledger.used_by);
  };
  if (choice.instance.has_value() || shape.asks_profile()) {
    for (const MigInstance& instance : PlacementOf(node, shape, choice).instances) {
      if (instance.device == static_cast<std::int32_t>(device)) take(&instance);
    }
  } else {
    take(nullptr);
  }
  return FreeOf(ledger, node.devices()[device].model, geometry);
}

std::int64_t MilliTakenShared(const NodeView& node, const Shape& shape,
                              const DeviceChoice& choice) {
  std::int64_t taken = 0;
  for (DeviceMask rest = choice.devices; !rest.empty(); rest.DropFirst()) {
    const auto device = static_cast<std::size_t>(rest.First());
    taken += node.devices()[device].gpu_milli - FreeAfter(node, device, shape, choice).gpu_milli;
  }
  return taken;
}

}  // namespace gpusched
