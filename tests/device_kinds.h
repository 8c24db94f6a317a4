// A device of every kind, and requests of every kind.
#ifndef GPUSCHED_TESTS_DEVICE_KINDS_H_
#define GPUSCHED_TESTS_DEVICE_KINDS_H_

#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"

namespace gpusched {

// One device of each kind, so that every step has something to do in every mode.
inline std::vector<DeviceSpec> DevicesOfEveryKind() {
  const std::string a100 = "A100-SXM4-40GB";
  DeviceSpec plain{.model = "T4", .gpu_mem_mib = 15'360};
  DeviceSpec reserved{.model = a100, .gpu_mem_mib = 40'960, .reserved_mem_mib = 500};
  DeviceSpec exclusive{.model = "T4", .gpu_mem_mib = 15'360, .sharing = SharingMode::kExclusive};
  DeviceSpec mps{.model = a100, .gpu_mem_mib = 40'960, .sharing = SharingMode::kMps};
  mps.replicas = 7;
  DeviceSpec slicing{.model = "T4",
                     .gpu_mem_mib = std::nullopt,
                     .sharing = SharingMode::kTimeSlicing,
                     .replicas = 3};
  DeviceSpec demand{.model = a100, .gpu_mem_mib = 40'960, .sharing = SharingMode::kMig};
  demand.partition_on_demand = true;
  DeviceSpec fixed{.model = a100, .gpu_mem_mib = 40'960, .sharing = SharingMode::kMig};
  fixed.partitions = {{"3g.20gb", 4}, {"1g.5gb+me", 0}, {"2g.10gb", 2}};
  DeviceSpec mixed = fixed;
  mixed.partitions = {{"2g.10gb", 4}};
  mixed.partition_on_demand = true;
  DeviceSpec whole_or_mig{.model = "A30", .gpu_mem_mib = 24'576};
  whole_or_mig.partition_on_demand = true;
  DeviceSpec exclusive_or_mig = whole_or_mig;
  exclusive_or_mig.sharing = SharingMode::kExclusive;
  return {plain,  reserved, exclusive, mps,          slicing,
          demand, fixed,    mixed,     whole_or_mig, exclusive_or_mig};
}

// Requests in every way, for the devices above.
inline std::vector<ShapeSpec> Asks() {
  const auto profile = [](const std::string& name, std::int64_t count, bool distinct = false) {
    return ShapeSpec{.cpu_milli = 10,
                     .gpu_count = count,
                     .models = {},
                     .mig_profile = name,
                     .sharing = {},
                     .distinct_devices = distinct};
  };
  const auto part = [](std::int64_t milli, std::int64_t mem, std::vector<SharingMode> modes = {}) {
    return ShapeSpec{.cpu_milli = 10,
                     .gpu_count = 1,
                     .gpu_milli = milli,
                     .gpu_mem_mib = mem,
                     .models = {},
                     .sharing = std::move(modes)};
  };
  return {part(100, 0),
          part(333, 5'000),
          part(900, 0, {SharingMode::kFraction}),
          part(150, 0, {SharingMode::kMps, SharingMode::kTimeSlicing}),
          part(0, 4'000),
          part(0, 10'000),
          part(0, 20'000),
          part(0, 9'000, {SharingMode::kMig}),
          part(0, 9'000, {SharingMode::kExclusive, SharingMode::kFraction}),
          part(0, 0, {SharingMode::kMps}),
          part(0, 0, {SharingMode::kTimeSlicing}),
          WholeGpus(1, 10),
          WholeGpus(2, 10),
          CpuTask(10),
          profile("1g.5gb", 1),
          profile("1g.5gb", 3),
          profile("1g.5gb+me", 1),
          profile("1g.10gb", 2),
          profile("2g.10gb", 1),
          profile("3g.20gb", 1),
          profile("4g.20gb", 1),
          profile("7g.40gb", 1),
          profile("1g.6gb", 2, true),
          profile("2g.12gb", 1),
          profile("4g.24gb", 1)};
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_DEVICE_KINDS_H_
