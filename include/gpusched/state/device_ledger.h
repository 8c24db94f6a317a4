// DeviceLedger: what one device has, who has how much of it, and what of it is free.
//
// The rules are those of docs/devices.md. All functions are pure; amounts are exact integers.
#ifndef GPUSCHED_STATE_DEVICE_LEDGER_H_
#define GPUSCHED_STATE_DEVICE_LEDGER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "gpusched/base/quantity.h"
#include "gpusched/decision/device_grant.h"
#include "gpusched/export.h"
#include "gpusched/spec/mig_geometry.h"
#include "gpusched/spec/mig_instance.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/state/offer.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// Amounts of one device.
struct DeviceAmounts {
  std::int64_t gpu_milli = 0;
  std::int64_t mem_mib = 0;
  friend bool operator==(const DeviceAmounts&, const DeviceAmounts&) = default;
};

// Who is on a device, counted.
struct DeviceTenancy {
  std::int64_t direct_milli = 0;  // of shares and whole devices; parts are counted apart
  std::int32_t tenants = 0;       // tasks, or instances if a task has several
  std::int32_t whole = 0;         // of these: have the whole device
  std::int32_t instances = 0;     // of these: MIG instances
  std::int32_t media = 0;         // of these: with media extensions
  std::int64_t parts = 0;         // replicas or compute slices
  std::array<std::uint16_t, kMaxMigSlices> slices{};  // users of each memory slice

  // The slices that somebody has.
  SliceMask occupied() const;
  friend bool operator==(const DeviceTenancy&, const DeviceTenancy&) = default;
};

// Fixed MIG partitions of a device: as many as it has slices at most.
struct FixedPartitions {
  struct Entry {
    std::uint8_t profile = 0;  // index in the geometry
    std::uint8_t start = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::array<Entry, kMaxMigSlices> entries{};
  std::uint8_t count = 0;
  SliceMask slices = 0;  // of all of them
  bool media = false;    // one of them has the media extensions

  std::span<const Entry> list() const { return {entries.data(), count}; }
  friend bool operator==(const FixedPartitions&, const FixedPartitions&) = default;
};

// Memory that the owner did not state is untracked: what is asked of it is counted, but holds
// nobody back. Capacity is without the reserve.
struct DeviceLedger {
  DeviceAmounts capacity, used, held, foreign;
  DeviceTenancy used_by, held_by;
  std::int64_t reserved_mem_mib = 0;
  std::int32_t replicas = 1;
  bool mem_tracked = false;
  bool partition_on_demand = false;
  SharingMode sharing = SharingMode::kFraction;
  FixedPartitions fixed;

  bool in_use() const { return used_by.tenants > 0 || held_by.tenants > 0; }
};

// What is free on one device, as the hot path reads it. Never negative.
struct DeviceFree {
  static constexpr std::int64_t kUntracked = std::numeric_limits<std::int64_t>::max();

  std::int64_t mem_mib = kUntracked;
  std::int32_t gpu_milli = 0;
  std::uint8_t model = 0;  // index in the ModelTable
  OfferMask offers = 0;
  SliceMask occupied = 0;         // memory slices that somebody has
  std::uint8_t free_compute = 0;  // compute slices that MIG instances could still take
};

static_assert(sizeof(DeviceFree) == 16);

// What one task, or one of its instances, takes of a device.
struct DeviceTake {
  std::int64_t direct_milli = 0;
  std::int64_t mem_mib = 0;
  std::int32_t parts = 0;
  bool whole = false;
  bool instance = false;
  bool media = false;
  SliceMask slices = 0;
};

// `geometry` is that of the device's model, or null. `instance` is null for a task that has none on
// the device.
GPUSCHED_EXPORT DeviceTake TakeOf(const DeviceLedger& device, const MigGeometry* geometry,
                                  const Shape& shape, const MigInstance* instance);

// Adds (sign 1) or takes back (−1) in a column: used with used_by, held with held_by.
GPUSCHED_EXPORT void AddTake(const DeviceTake& take, const DeviceLedger& device,
                             const MigGeometry* geometry, std::int64_t sign, DeviceAmounts& amounts,
                             DeviceTenancy& tenancy);

// What is left of it, and how it can be had.
GPUSCHED_EXPORT DeviceFree FreeOf(const DeviceLedger& device, std::uint8_t model,
                                  const MigGeometry* geometry);

// Whether a device is shared by shares alone and nobody is on it in another way, so that the next
// two apply. Most devices are, and these are the hot path.
inline bool SharedByFraction(const DeviceLedger& device) {
  const auto none = [](const DeviceTenancy& t) { return (t.instances | t.parts) == 0; };
  return device.sharing == SharingMode::kFraction && !device.partition_on_demand &&
         none(device.used_by) && none(device.held_by);
}

// As TakeOf and AddTake together, on such a device, for a task without a profile.
inline void AddShare(const Shape& shape, std::int64_t sign, DeviceAmounts& amounts,
                     DeviceTenancy& tenancy) {
  const std::int64_t milli = sign * shape.gpu_milli;
  tenancy.direct_milli += milli;
  tenancy.tenants += static_cast<std::int32_t>(sign);
  tenancy.whole += shape.gpu_milli == kMilli ? static_cast<std::int32_t>(sign) : 0;
  amounts.gpu_milli += milli;
  amounts.mem_mib += sign * shape.gpu_mem_mib;
}

// As FreeOf, on such a device.
inline DeviceFree FreeOfShared(const DeviceLedger& device, std::uint8_t model) {
  DeviceFree free{.model = model};
  if (device.mem_tracked) {
    free.mem_mib = std::max<std::int64_t>(0, device.capacity.mem_mib - device.used.mem_mib -
                                                 device.held.mem_mib - device.foreign.mem_mib);
  }
  const std::int64_t open = device.capacity.gpu_milli - device.foreign.gpu_milli;
  free.gpu_milli = static_cast<std::int32_t>(
      std::max<std::int64_t>(0, open - device.used_by.direct_milli - device.held_by.direct_milli));
  if (open <= 0 || device.used_by.whole > 0 || device.held_by.whole > 0) return free;
  const bool idle = device.used_by.tenants + device.held_by.tenants == 0 && open == kMilli;
  free.offers = static_cast<OfferMask>(kOfferShare | (idle ? kOfferWhole : 0));
  return free;
}

// The same while nobody is on it, others included: all that it could ever offer.
GPUSCHED_EXPORT DeviceFree FreeWhenEmpty(const DeviceLedger& device, std::uint8_t model,
                                         const MigGeometry* geometry);

// How a task that has these instances (or none) has the device.
GPUSCHED_EXPORT DeviceGrant GrantOf(const DeviceLedger& device, const MigGeometry* geometry,
                                    const Shape& shape, std::span<const MigInstance> instances);

// The same device as its owner described it; `model` is the name.
GPUSCHED_EXPORT DeviceSpec SpecOf(const DeviceLedger& device, const MigGeometry* geometry,
                                  std::string_view model);

// A ledger with the capacity of the spec, and nobody on it. Profiles of partitions are known.
GPUSCHED_EXPORT void SetCapacity(const DeviceSpec& spec, const MigGeometry* geometry,
                                 DeviceLedger& device);

}  // namespace gpusched

#endif  // GPUSCHED_STATE_DEVICE_LEDGER_H_
