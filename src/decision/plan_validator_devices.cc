#include "plan_validator_devices.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace gpusched::validator {
namespace {

constexpr std::int64_t kWhole = 1000;

bool IsReplicated(const DeviceSpec& device) {
  return device.sharing == SharingMode::kMps || device.sharing == SharingMode::kTimeSlicing;
}

std::int64_t PartsOf(const DeviceFacts& device) {
  if (IsReplicated(device.spec)) return device.spec.replicas;
  return device.geometry == nullptr ? 0 : device.geometry->compute_slices;
}

bool MayBePartitioned(const DeviceFacts& device) {
  return device.geometry != nullptr &&
         (device.spec.sharing == SharingMode::kMig || device.spec.partition_on_demand);
}

const MigProfile* ProfileOf(const DeviceFacts& device, const std::string& name) {
  if (device.geometry == nullptr) return nullptr;
  for (const MigProfile& profile : device.geometry->profiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

bool IsLegal(const MigProfile& profile, std::int64_t start) {
  return std::find(profile.starts.begin(), profile.starts.end(), start) != profile.starts.end();
}

Occupant WholeOf(const DeviceFacts& device, const ShapeSpec& shape) {
  Occupant occupant{.mem_mib = shape.gpu_mem_mib, .whole = true};
  if (IsReplicated(device.spec)) {
    occupant.parts = device.spec.replicas;
  } else {
    occupant.milli = kWhole;
  }
  return occupant;
}

bool Overlap(std::int64_t first_a, std::int64_t count_a, std::int64_t first_b,
             std::int64_t count_b) {
  return first_a < first_b + count_b && first_b < first_a + count_a;
}

std::string No(const DeviceFacts& device, const std::string& why) {
  return absl::StrCat("devices[", device.index, "]: ", why);
}

// One dimension of the device; `amount` is what each that is there has of it.
Room RoomOf(const DeviceFacts& device, const std::vector<Occupant>& there, const std::string& what,
            std::int64_t Occupant::*amount) {
  Room room{.what = absl::StrCat("devices[", device.index, "].", what)};
  for (const Occupant& other : there) (other.held ? room.held : room.used) += other.*amount;
  return room;
}

std::string LackingMilli(const DeviceFacts& device, const std::vector<Occupant>& there,
                         std::int64_t need) {
  Room room = RoomOf(device, there, "gpu_milli", &Occupant::milli);
  room.capacity = device.spec.gpu_milli;
  room.foreign = device.foreign_milli;
  return Lacking(room, need);
}

std::string LackingMemory(const DeviceFacts& device, const std::vector<Occupant>& there,
                          std::int64_t need) {
  if (!device.spec.gpu_mem_mib) return "";
  Room room = RoomOf(device, there, "gpu_mem_mib", &Occupant::mem_mib);
  room.capacity = *device.spec.gpu_mem_mib - device.spec.reserved_mem_mib;
  return Lacking(room, need);
}

// Replicas or compute slices. What others use of the device costs whole ones. Nobody there has
// milli.
std::string LackingParts(const DeviceFacts& device, const std::vector<Occupant>& there,
                         std::int64_t need) {
  Room room = RoomOf(device, there, IsReplicated(device.spec) ? "replicas" : "compute slices",
                     &Occupant::parts);
  room.capacity = PartsOf(device);
  room.foreign =
      room.capacity - room.capacity * (device.spec.gpu_milli - device.foreign_milli) / kWhole;
  return Lacking(room, need);
}

bool Allows(const ShapeSpec& shape, SharingMode mode) {
  return shape.sharing.empty() ||
         std::find(shape.sharing.begin(), shape.sharing.end(), mode) != shape.sharing.end();
}

bool AsksMemoryAlone(const ShapeSpec& shape) {
  return shape.mig_profile.empty() && shape.gpu_milli == 0 && shape.gpu_mem_mib > 0;
}

bool IsFixed(const DeviceFacts& device, const MigProfile& profile, std::int64_t start) {
  for (const MigPartition& partition : device.spec.partitions) {
    if (partition.profile == profile.name && partition.start == start) return true;
  }
  return false;
}

// Why there can't be an instance of the profile at the start; empty: there can.
std::string WhyNoInstance(const DeviceFacts& device, const std::vector<Occupant>& there,
                          const MigProfile& profile, std::int64_t start) {
  const std::string name = absl::StrCat(profile.name, " at ", start);
  if (!IsLegal(profile, start)) return No(device, absl::StrCat(name, " is no legal start"));
  for (const Occupant& other : there) {
    if (Overlap(start, profile.memory_slices, other.first_slice, other.slices)) {
      return No(device, absl::StrCat(name, " overlaps an instance in use at ", other.first_slice));
    }
    if (profile.media_extensions && other.media) {
      return No(device, absl::StrCat(name, " needs the media engines, which another instance has"));
    }
  }
  std::string wrong = LackingParts(device, there, profile.compute_slices);
  if (!wrong.empty() || IsFixed(device, profile, start)) return wrong;
  if (!device.spec.partition_on_demand) {
    return No(device, absl::StrCat(name, " is none of its partitions"));
  }
  for (const MigPartition& partition : device.spec.partitions) {
    const MigProfile* const other = ProfileOf(device, partition.profile);
    if (other != nullptr &&
        Overlap(start, profile.memory_slices, partition.start, other->memory_slices)) {
      return No(device, absl::StrCat(name, " overlaps the fixed partition at ", partition.start));
    }
    if (profile.media_extensions && other != nullptr && other->media_extensions) {
      return No(device, absl::StrCat(name, " needs the media engines, which the partition at ",
                                     partition.start, " has"));
    }
  }
  return "";
}

// Of two profiles with enough memory: whether the first (by index) is made on demand before the
// second.
bool IsLess(const MigGeometrySpec& geometry, std::size_t a, std::size_t b) {
  const MigProfile& first = geometry.profiles[a];
  const MigProfile& second = geometry.profiles[b];
  if (first.memory_slices != second.memory_slices) {
    return first.memory_slices < second.memory_slices;
  }
  if (first.compute_slices != second.compute_slices) {
    return first.compute_slices < second.compute_slices;
  }
  return a < b;
}

// Why an instance that can be there is not one that a task gets that asks memory; empty: it is.
std::string WhyNotForMemory(const DeviceFacts& device, const std::vector<Occupant>& there,
                            const ShapeSpec& shape, const MigInstance& instance) {
  const auto& profiles = device.geometry->profiles;
  const MigProfile* const profile = ProfileOf(device, instance.profile);
  if (profile->media_extensions) {
    return No(device, absl::StrCat(profile->name, " has media extensions, which nobody asked"));
  }
  if (profile->mem_mib < shape.gpu_mem_mib) {
    return No(device, absl::StrCat(profile->name, " has ", profile->mem_mib, " MiB, the task asks ",
                                   shape.gpu_mem_mib));
  }
  if (IsFixed(device, *profile, instance.start)) return "";
  const auto index = static_cast<std::size_t>(profile - profiles.data());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const MigProfile& lesser = profiles[i];
    if (!IsLess(*device.geometry, i, index)) continue;
    if (lesser.media_extensions || lesser.mem_mib < shape.gpu_mem_mib) continue;
    for (const std::int32_t start : lesser.starts) {
      if (IsFixed(device, lesser, start)) continue;
      if (!WhyNoInstance(device, there, lesser, start).empty()) continue;
      return No(device, absl::StrCat(profile->name, " is made where ", lesser.name, " at ", start,
                                     " would do"));
    }
  }
  return "";
}

std::string WhyNotAsInstance(const DeviceFacts& device, const std::vector<Occupant>& there,
                             const ShapeSpec& shape, const MigInstance& instance) {
  const bool asks_memory = AsksMemoryAlone(shape) && Allows(shape, SharingMode::kMig);
  if (!asks_memory && shape.mig_profile.empty()) {
    return No(device, "the task asks no MIG instance");
  }
  if (!asks_memory && shape.mig_profile != instance.profile) {
    return No(device, absl::StrCat("the task asks profile '", shape.mig_profile, "', not '",
                                   instance.profile, "'"));
  }
  if (!MayBePartitioned(device)) return No(device, "it can't be partitioned");
  for (const Occupant& other : there) {
    if (!other.instance) return No(device, "somebody without an instance is on it");
  }
  const MigProfile* const profile = ProfileOf(device, instance.profile);
  if (profile == nullptr) {
    return No(device, absl::StrCat("its model has no profile '", instance.profile, "'"));
  }
  std::string wrong = WhyNoInstance(device, there, *profile, instance.start);
  if (wrong.empty() && asks_memory) wrong = WhyNotForMemory(device, there, shape, instance);
  return wrong;
}

// For itself, whether it asks that or the device is exclusive.
std::string WhyNotWhole(const DeviceFacts& device, const std::vector<Occupant>& there,
                        const ShapeSpec& shape) {
  if (device.spec.sharing == SharingMode::kMig) return No(device, "it has MIG instances only");
  std::string wrong = LackingMilli(device, there, kWhole);
  if (wrong.empty()) wrong = LackingMemory(device, there, shape.gpu_mem_mib);
  if (wrong.empty() && !there.empty()) {
    wrong = No(device, "somebody is on it, the task needs the whole");
  }
  return wrong;
}

// A share, memory or a replica: in the mode of the device.
std::string WhyNotPart(const DeviceFacts& device, const std::vector<Occupant>& there,
                       const ShapeSpec& shape) {
  const SharingMode mode = device.spec.sharing;
  if (!Allows(shape, mode)) {
    return No(device, absl::StrCat("the task does not allow its mode, ",
                                   std::string(SharingModeName(mode))));
  }
  if (mode == SharingMode::kMig) return No(device, "it has MIG instances only");
  if (mode == SharingMode::kExclusive) {
    return AsksMemoryAlone(shape) ? WhyNotWhole(device, there, shape)
                                  : No(device, "it is exclusive, the task asks a share");
  }
  for (const Occupant& other : there) {
    if (other.whole) return No(device, "somebody has the whole of it");
    if (other.instance) return No(device, "MIG instances are on it");
  }
  std::string wrong = IsReplicated(device.spec)
                          ? LackingParts(device, there, OccupantOf(device, shape, nullptr).parts)
                          : LackingMilli(device, there, shape.gpu_milli);
  return wrong.empty() ? LackingMemory(device, there, shape.gpu_mem_mib) : wrong;
}

}  // namespace

std::string Lacking(const Room& room, std::int64_t need) {
  const std::int64_t free = room.capacity - room.used - room.foreign - room.held;
  if (need <= 0 || need <= free) return "";
  return absl::StrCat(room.what, ": ", free, " free (capacity ", room.capacity, ", used ",
                      room.used, ", foreign ", room.foreign, ", held for others ", room.held,
                      "), the task asks ", need);
}

Occupant OccupantOf(const DeviceFacts& device, const ShapeSpec& shape,
                    const MigInstance* instance) {
  if (instance != nullptr) {
    const MigProfile* const profile = ProfileOf(device, instance->profile);
    if (!MayBePartitioned(device) || profile == nullptr || !IsLegal(*profile, instance->start)) {
      return WholeOf(device, shape);
    }
    return {.mem_mib = profile->mem_mib,
            .parts = profile->compute_slices,
            .instance = true,
            .media = profile->media_extensions,
            .first_slice = instance->start,
            .slices = profile->memory_slices};
  }
  if (shape.gpu_milli == kWhole || !shape.mig_profile.empty()) return WholeOf(device, shape);
  if (IsReplicated(device.spec)) {
    std::int64_t replicas = 1;
    while (replicas * kWhole < shape.gpu_milli * device.spec.replicas) ++replicas;
    return {.mem_mib = shape.gpu_mem_mib, .parts = replicas};
  }
  if (device.spec.sharing != SharingMode::kFraction) return WholeOf(device, shape);
  return {.milli = shape.gpu_milli, .mem_mib = shape.gpu_mem_mib};
}

DeviceLoad LoadOf(const DeviceFacts& device, const std::vector<Occupant>& occupants) {
  DeviceLoad load;
  std::vector<std::int64_t> slices(static_cast<std::size_t>(kMaxMigSlices), 0);
  bool any_slice = false;
  for (const Occupant& occupant : occupants) {
    load.gpu_milli += occupant.milli;
    if (device.spec.gpu_mem_mib) load.gpu_mem_mib += occupant.mem_mib;
    load.parts += occupant.parts;
    ++load.tenants;
    for (std::int64_t i = 0; i < occupant.slices; ++i) {
      ++slices[static_cast<std::size_t>(occupant.first_slice + i)];
      any_slice = true;
    }
  }
  if (PartsOf(device) > 0) load.gpu_milli += kWhole * load.parts / PartsOf(device);
  if (any_slice) load.slices = slices;
  return load;
}

std::string WrongNumber(const ShapeSpec& shape, DeviceMask devices,
                        const std::vector<MigInstance>& instances) {
  const auto asked = shape.gpu_count;
  if (instances.empty() && shape.mig_profile.empty()) {
    return devices.size() == asked
               ? ""
               : absl::StrCat(devices.size(), " devices, the task asks ", asked);
  }
  if (static_cast<std::int64_t>(instances.size()) != asked) {
    return absl::StrCat(instances.size(), " MIG instances, the task asks ", asked);
  }
  DeviceMask named;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const MigInstance& instance = instances[i];
    if (instance.device < 0 || instance.device >= kMaxDevicesPerNode) return "no such device";
    if (i > 0) {
      const MigInstance& before = instances[i - 1];
      const bool in_order = before.device < instance.device ||
                            (before.device == instance.device && before.start < instance.start);
      if (!in_order) return "MIG instances are not by device and start";
    }
    if (shape.distinct_devices && named.contains(instance.device)) {
      return absl::StrCat("two instances on device ", instance.device, ", the task asks one each");
    }
    named.Insert(instance.device);
  }
  return named == devices ? "" : "the devices are not those of the MIG instances";
}

std::string WhyNot(const DeviceFacts& device, const std::vector<Occupant>& there,
                   const ShapeSpec& shape, const MigInstance* instance) {
  if (device.spec.gpu_milli <= device.foreign_milli) {
    return No(device, absl::StrCat("others use all there is, ", device.foreign_milli, " of ",
                                   device.spec.gpu_milli));
  }
  if (instance != nullptr) return WhyNotAsInstance(device, there, shape, *instance);
  return shape.gpu_milli == kWhole ? WhyNotWhole(device, there, shape)
                                   : WhyNotPart(device, there, shape);
}

DeviceGrant GrantFor(const DeviceFacts& device, const ShapeSpec& shape,
                     const std::vector<MigInstance>& instances) {
  const Occupant occupant =
      OccupantOf(device, shape, instances.empty() ? nullptr : &instances.front());
  DeviceGrant grant;
  grant.gpu_mem_mib = occupant.mem_mib;
  grant.instances = instances;
  if (occupant.whole) {
    grant.gpu_milli = kWhole;
  } else if (occupant.instance || IsReplicated(device.spec)) {
    grant.mode = occupant.instance ? SharingMode::kMig : device.spec.sharing;
    grant.gpu_milli = kWhole * occupant.parts / PartsOf(device);
  } else {
    grant.mode = SharingMode::kFraction;
    grant.gpu_milli = occupant.milli;
  }
  return grant;
}

}  // namespace gpusched::validator
