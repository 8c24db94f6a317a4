#include "gpusched/state/fit.h"

#include <algorithm>

namespace gpusched {
namespace {

// The asked profile's index in the geometry of a device's model; −1: none, or memory is asked.
int ProfileOn(const NodeView& node, const DeviceFree& device, const Shape& shape) {
  return shape.asks_profile() ? node.mig().ProfileIn(device.model, shape.profile) : -1;
}

// Whether the instance can be had now; `free` is that of the device after the instances before it.
bool InstanceFits(const NodeView& node, const DeviceFree& free, const Shape& shape,
                  const MigInstance& instance) {
  const auto device = static_cast<std::size_t>(instance.device);
  const MigGeometry* const geometry = node.geometry(device);
  if (geometry == nullptr || ((shape.models >> free.model) & 1) == 0) return false;
  const int profile = ProfileOn(node, free, shape);
  if (shape.asks_profile() && profile < 0) return false;
  bool found = false;
  ForEachInstance({.free = free, .ledger = node.device_ledgers()[device], .geometry = *geometry},
                  shape, profile, [&](InstanceOption option) {
                    found = option.start == instance.start &&
                            geometry->profile(static_cast<std::size_t>(option.profile)).name ==
                                instance.profile;
                    return !found;
                  });
  return found;
}

}  // namespace

bool FitsShared(const NodeView& node, const Shape& shape) {
  const OfferMask wants = shape.wants();
  std::int32_t found = 0;
  for (const DeviceFree& device : node.devices()) {
    if (DeviceFits(device, shape, wants) && ++found == shape.gpu_count) return true;
  }
  if ((wants & kOfferMig) == 0) return false;
  for (std::size_t i = 0; i < node.devices().size(); ++i) {
    found += InstancesOn(node, i, shape);
    if (found >= shape.gpu_count) return true;
  }
  return false;
}

std::int32_t InstancesOn(const NodeView& node, std::size_t device, const DeviceFree& after,
                         const Shape& shape) {
  if ((after.offers & shape.wants() & kOfferMig) == 0) return 0;
  if (((shape.models >> after.model) & 1) == 0) return 0;
  const MigGeometry* const geometry = node.mig().geometry(after.model);
  if (geometry == nullptr) return 0;
  const SlicedDevice sliced{
      .free = after, .ledger = node.device_ledgers()[device], .geometry = *geometry};
  const int profile = ProfileOn(node, after, shape);
  if (shape.asks_profile()) {
    return profile < 0 ? 0 : CountInstances(sliced, shape, profile);
  }
  bool any = false;
  ForEachInstance(sliced, shape, profile, [&](InstanceOption) {
    any = true;
    return false;
  });
  return any ? 1 : 0;
}

std::int32_t InstancesOn(const NodeView& node, std::size_t device, const Shape& shape) {
  return InstancesOn(node, device, node.devices()[device], shape);
}

std::string_view WrongForm(const Shape& shape, DeviceMask devices,
                           std::span<const MigInstance> instances) {
  if (!shape.asks_gpu() || (!shape.asks_profile() && instances.empty())) {
    if (!instances.empty()) return "it asks no GPU, so it has no MIG instances";
    return devices.size() == shape.gpu_count ? "" : "it names another number of devices than asked";
  }
  if (!shape.may_take_instance()) return "it asks no MIG instance";
  if (static_cast<std::int32_t>(instances.size()) != shape.gpu_count) {
    return "it names another number of MIG instances than asked";
  }
  DeviceMask named;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const MigInstance& instance = instances[i];
    if (instance.device < 0 || instance.device >= kMaxDevicesPerNode || instance.start < 0 ||
        instance.start >= kMaxMigSlices) {
      return "a MIG instance has a device or start that no device has";
    }
    if (i > 0 && !Before(instances[i - 1], instance)) {
      return "MIG instances are not each once, by device and start";
    }
    if (shape.distinct_devices && named.contains(instance.device)) {
      return "two MIG instances are on one device, but it asks distinct ones";
    }
    named.Insert(instance.device);
  }
  return named == devices ? "" : "the devices are not those of its MIG instances";
}

bool FitsOn(const NodeView& node, const Shape& shape, DeviceMask devices,
            std::span<const MigInstance> instances) {
  if (node.cpu_free() < shape.cpu_milli || node.mem_free() < shape.mem_mib) return false;
  if (!WrongForm(shape, devices, instances).empty()) return false;
  const auto free = node.devices();
  if (instances.empty()) {
    for (; !devices.empty(); devices.DropFirst()) {
      const auto device = static_cast<std::size_t>(devices.First());
      if (device >= free.size() || !DeviceFits(free[device], shape)) return false;
    }
    return true;
  }
  for (std::size_t i = 0; i < instances.size();) {
    const auto device = static_cast<std::size_t>(instances[i].device);
    if (device >= free.size()) return false;
    DeviceLedger ledger = node.device_ledgers()[device];
    DeviceFree after = free[device];
    for (; i < instances.size() && static_cast<std::size_t>(instances[i].device) == device; ++i) {
      if (!InstanceFits(node, after, shape, instances[i])) return false;
      const MigGeometry* const geometry = node.geometry(device);
      AddTake(TakeOf(ledger, geometry, shape, &instances[i]), ledger, geometry, 1, ledger.used,
              ledger.used_by);
      after = FreeOf(ledger, after.model, geometry);
    }
  }
  return true;
}

}  // namespace gpusched
