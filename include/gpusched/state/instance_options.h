// InstanceOptions: which MIG instances a device could give to a task now.
#ifndef GPUSCHED_STATE_INSTANCE_OPTIONS_H_
#define GPUSCHED_STATE_INSTANCE_OPTIONS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "gpusched/base/quantity.h"
#include "gpusched/state/device_ledger.h"
#include "gpusched/state/mig_table.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// A profile (by its index in the device's geometry) at a start; none if both are −1.
struct InstanceOption {
  std::int8_t profile = -1;
  std::int8_t start = -1;

  constexpr bool has_value() const { return profile >= 0; }
  friend constexpr bool operator==(const InstanceOption&, const InstanceOption&) = default;
};

// One device as instances are looked for on it: as it is, or as it would be after something.
struct SlicedDevice {
  const DeviceFree& free;
  const DeviceLedger& ledger;
  const MigGeometry& geometry;
};

// Whether an instance of the profile could be at a start of a fixed partition, or be made there.
inline bool PartitionIsFree(const SlicedDevice& device, FixedPartitions::Entry entry) {
  const MigProfile& profile = device.geometry.profile(entry.profile);
  return (device.geometry.Footprint(entry.profile, entry.start) & device.free.occupied) == 0 &&
         profile.compute_slices <= device.free.free_compute &&
         (!profile.media_extensions || (device.free.offers & kOfferMedia) != 0);
}

// Starts at which an instance of the profile could be made now.
inline SliceMask StartsOnDemand(const SlicedDevice& device, std::size_t index) {
  const bool always_mig = device.ledger.sharing == SharingMode::kMig;
  if (always_mig && !device.ledger.partition_on_demand) return 0;
  const MigProfile& profile = device.geometry.profile(index);
  if (profile.compute_slices > device.free.free_compute) return 0;
  if (profile.media_extensions &&
      (device.ledger.fixed.media || (device.free.offers & kOfferMedia) == 0)) {
    return 0;  // a fixed partition has them, used or not, or somebody does
  }
  return device.geometry.FreeStarts(
      index, static_cast<SliceMask>(device.free.occupied | device.ledger.fixed.slices));
}

// Calls `visit(option)` for each instance that the device could give to one who asks this shape, in
// the order of docs/devices.md: fixed partitions as listed, then starts ascending; it returns false
// to stop. `profile` is the index of the asked profile in the geometry, −1 if memory is asked.
template <class Visitor>
void ForEachInstance(const SlicedDevice& device, const Shape& shape, int profile, Visitor&& visit) {
  if ((device.free.offers & kOfferMig) == 0) return;
  const MigGeometry& geometry = device.geometry;
  const auto will_do = [&](std::size_t index) {
    if (shape.asks_profile()) return static_cast<int>(index) == profile;
    const MigProfile& candidate = geometry.profile(index);
    return !candidate.media_extensions && candidate.mem_mib >= shape.gpu_mem_mib;
  };
  const auto option = [](std::size_t index, int start) {
    return InstanceOption{static_cast<std::int8_t>(index), static_cast<std::int8_t>(start)};
  };
  for (const FixedPartitions::Entry entry : device.ledger.fixed.list()) {
    if (!will_do(entry.profile) || !PartitionIsFree(device, entry)) continue;
    if (!visit(option(entry.profile, entry.start))) return;
  }
  // On demand: the asked profile, or the least one with the memory that has a start.
  std::size_t made = geometry.profile_count();
  SliceMask starts = 0;
  for (std::size_t index = 0; index < geometry.profile_count(); ++index) {
    if (!will_do(index)) continue;
    if (made < geometry.profile_count()) {
      const MigProfile& least = geometry.profile(made);
      const MigProfile& other = geometry.profile(index);
      if (other.memory_slices > least.memory_slices ||
          (other.memory_slices == least.memory_slices &&
           other.compute_slices >= least.compute_slices)) {
        continue;
      }
    }
    const SliceMask there = StartsOnDemand(device, index);
    if (there == 0) continue;
    made = index;
    starts = there;
  }
  for (unsigned rest = starts; rest != 0; rest &= rest - 1) {
    if (!visit(option(made, std::countr_zero(rest)))) return;
  }
}

// How many instances of the asked profile the device could give at once. Exact, because starts of
// one profile never overlap (Validate sees to it).
inline std::int32_t CountInstances(const SlicedDevice& device, const Shape& shape, int profile) {
  std::int32_t count = 0;
  ForEachInstance(device, shape, profile, [&](InstanceOption) {
    ++count;
    return true;
  });
  if (count == 0) return 0;
  const MigProfile& asked = device.geometry.profile(static_cast<std::size_t>(profile));
  if (asked.media_extensions || shape.distinct_devices) return 1;
  return std::min(count, device.free.free_compute / std::max(1, asked.compute_slices));
}

}  // namespace gpusched

#endif  // GPUSCHED_STATE_INSTANCE_OPTIONS_H_
