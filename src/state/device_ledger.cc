#include "gpusched/state/device_ledger.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "gpusched/base/quantity.h"

namespace gpusched {
namespace {

// Replicas or compute slices of the whole device; 0 if it has no parts.
std::int64_t PartsOf(const DeviceLedger& device, const MigGeometry* geometry) {
  if (HasReplicas(device.sharing)) return device.replicas;
  return geometry == nullptr ? 0 : geometry->spec().compute_slices;
}

bool MayHaveInstances(const DeviceLedger& device, const MigGeometry* geometry) {
  return geometry != nullptr && (device.sharing == SharingMode::kMig || device.partition_on_demand);
}

DeviceTake Whole(const DeviceLedger& device, const Shape& shape) {
  const bool replicas = HasReplicas(device.sharing);
  return {.direct_milli = replicas ? 0 : kMilli,
          .mem_mib = shape.gpu_mem_mib,
          .parts = replicas ? device.replicas : 0,
          .whole = true};
}

}  // namespace

SliceMask DeviceTenancy::occupied() const {
  unsigned mask = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) mask |= slices[i] > 0 ? 1U << i : 0U;
  return static_cast<SliceMask>(mask);
}

DeviceTake TakeOf(const DeviceLedger& device, const MigGeometry* geometry, const Shape& shape,
                  const MigInstance* instance) {
  if (instance != nullptr) {
    if (!MayHaveInstances(device, geometry)) return Whole(device, shape);
    const auto index = geometry->FindProfile(instance->profile);
    if (!index || !geometry->LegalStart(*index, instance->start)) return Whole(device, shape);
    const MigProfile& profile = geometry->profile(*index);
    return {.mem_mib = profile.mem_mib,
            .parts = profile.compute_slices,
            .instance = true,
            .media = profile.media_extensions,
            .slices = geometry->Footprint(*index, instance->start)};
  }
  if (shape.asks_profile() || shape.gpu_milli == kMilli) return Whole(device, shape);
  if (HasReplicas(device.sharing)) {
    const std::int64_t asked =
        (std::int64_t{shape.gpu_milli} * device.replicas + kMilli - 1) / kMilli;
    return {.mem_mib = shape.gpu_mem_mib,
            .parts = static_cast<std::int32_t>(std::max<std::int64_t>(1, asked))};
  }
  if (device.sharing != SharingMode::kFraction) return Whole(device, shape);
  return {.direct_milli = shape.gpu_milli, .mem_mib = shape.gpu_mem_mib};
}

void AddTake(const DeviceTake& take, const DeviceLedger& device, const MigGeometry* geometry,
             std::int64_t sign, DeviceAmounts& amounts, DeviceTenancy& tenancy) {
  const auto one = static_cast<std::int32_t>(sign);
  tenancy.direct_milli += sign * take.direct_milli;
  tenancy.tenants += one;
  tenancy.parts += sign * take.parts;
  if (take.whole) tenancy.whole += one;
  if (take.instance) {
    tenancy.instances += one;
    tenancy.media += take.media ? one : 0;
    for (std::size_t i = 0; i < tenancy.slices.size(); ++i) {
      if (((take.slices >> i) & 1) == 0) continue;
      tenancy.slices[i] = static_cast<std::uint16_t>(tenancy.slices[i] + one);
    }
  }
  // From the parts in use, not part by part: so a full device is 1000, however many it has.
  const std::int64_t parts = PartsOf(device, geometry);
  amounts.gpu_milli = tenancy.direct_milli + (parts == 0 ? 0 : kMilli * tenancy.parts / parts);
  amounts.mem_mib += sign * take.mem_mib;
}

DeviceFree FreeOf(const DeviceLedger& device, std::uint8_t model, const MigGeometry* geometry) {
  DeviceFree free{.model = model};
  if (device.mem_tracked) {
    free.mem_mib = std::max<std::int64_t>(0, device.capacity.mem_mib - device.used.mem_mib -
                                                 device.held.mem_mib - device.foreign.mem_mib);
  }
  const DeviceTenancy& used = device.used_by;
  const DeviceTenancy& held = device.held_by;
  const std::int64_t open = device.capacity.gpu_milli - device.foreign.gpu_milli;
  const std::int64_t left = std::max<std::int64_t>(0, open - used.direct_milli - held.direct_milli);
  const std::int64_t parts = PartsOf(device, geometry);
  std::int64_t free_parts = 0;
  if (parts > 0) {
    free_parts = std::max<std::int64_t>(0, parts * left / kMilli - used.parts - held.parts);
  }
  const std::int32_t instances = used.instances + held.instances;
  const bool in_parts = parts > 0 && (HasReplicas(device.sharing) ||
                                      device.sharing == SharingMode::kMig || instances > 0);
  free.gpu_milli = static_cast<std::int32_t>(in_parts ? kMilli * free_parts / parts : left);

  if (open <= 0 || used.whole > 0 || held.whole > 0) return free;
  const std::int32_t tenants = used.tenants + held.tenants;
  unsigned offers = 0;
  if (tenants == 0 && open == kMilli && device.sharing != SharingMode::kMig) offers |= kOfferWhole;
  switch (device.sharing) {
    case SharingMode::kExclusive:
      if ((offers & kOfferWhole) != 0) offers |= kOfferWholeForMemory;
      break;
    case SharingMode::kFraction:
      if (instances == 0) offers |= kOfferShare;
      break;
    case SharingMode::kMps:
    case SharingMode::kTimeSlicing:
      if (free_parts > 0) {
        offers |= device.sharing == SharingMode::kMps ? kOfferMps : kOfferTimeSlicing;
      }
      break;
    case SharingMode::kMig:
      break;
  }
  if (MayHaveInstances(device, geometry) && tenants == instances) {
    offers |= kOfferMig;
    if (used.media + held.media == 0) offers |= kOfferMedia;
    free.occupied = static_cast<SliceMask>(used.occupied() | held.occupied());
    free.free_compute = static_cast<std::uint8_t>(free_parts);
  }
  free.offers = static_cast<OfferMask>(offers);
  return free;
}

DeviceFree FreeWhenEmpty(const DeviceLedger& device, std::uint8_t model,
                         const MigGeometry* geometry) {
  DeviceLedger empty = device;
  empty.used = empty.held = empty.foreign = {};
  empty.used_by = empty.held_by = {};
  return FreeOf(empty, model, geometry);
}

DeviceGrant GrantOf(const DeviceLedger& device, const MigGeometry* geometry, const Shape& shape,
                    std::span<const MigInstance> instances) {
  const DeviceTake take =
      TakeOf(device, geometry, shape, instances.empty() ? nullptr : &instances.front());
  DeviceGrant grant{.gpu_mem_mib = take.mem_mib, .instances = {instances.begin(), instances.end()}};
  const std::int64_t parts = PartsOf(device, geometry);
  if (take.whole) {
    grant.gpu_milli = kMilli;
    return grant;
  }
  grant.mode = take.instance ? SharingMode::kMig : device.sharing;
  grant.gpu_milli = take.direct_milli + (parts == 0 ? 0 : kMilli * take.parts / parts);
  return grant;
}

DeviceSpec SpecOf(const DeviceLedger& device, const MigGeometry* geometry, std::string_view model) {
  DeviceSpec spec{.model = std::string(model),
                  .gpu_milli = device.capacity.gpu_milli,
                  .gpu_mem_mib = std::nullopt,
                  .reserved_mem_mib = device.reserved_mem_mib,
                  .sharing = device.sharing,
                  .replicas = device.replicas,
                  .partitions = {},
                  .partition_on_demand = device.partition_on_demand};
  if (device.mem_tracked) spec.gpu_mem_mib = device.capacity.mem_mib + device.reserved_mem_mib;
  for (const FixedPartitions::Entry& entry : device.fixed.list()) {
    spec.partitions.push_back(
        {.profile = geometry->profile(entry.profile).name, .start = entry.start});
  }
  return spec;
}

void SetCapacity(const DeviceSpec& spec, const MigGeometry* geometry, DeviceLedger& device) {
  device.capacity = {.gpu_milli = spec.gpu_milli,
                     .mem_mib = spec.gpu_mem_mib ? *spec.gpu_mem_mib - spec.reserved_mem_mib : 0};
  device.reserved_mem_mib = spec.reserved_mem_mib;
  device.mem_tracked = spec.gpu_mem_mib.has_value();
  device.sharing = spec.sharing;
  device.replicas = static_cast<std::int32_t>(spec.replicas);
  device.partition_on_demand = spec.partition_on_demand;
  device.fixed = {};
  for (const MigPartition& partition : spec.partitions) {
    const auto profile = static_cast<std::uint8_t>(*geometry->FindProfile(partition.profile));
    device.fixed.slices =
        static_cast<SliceMask>(device.fixed.slices | geometry->Footprint(profile, partition.start));
    device.fixed.media = device.fixed.media || geometry->profile(profile).media_extensions;
    device.fixed.entries[device.fixed.count++] = {
        .profile = profile, .start = static_cast<std::uint8_t>(partition.start)};
  }
}

}  // namespace gpusched
