#include "gpusched/spec/validate.h"

#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/base/quantity.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

absl::Status CheckRange(std::string_view where, std::string_view field, std::int64_t value,
                        std::int64_t most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return InvalidField(where, field, absl::StrCat(value), absl::StrCat("use 0 to ", most));
}

absl::Status CheckModel(std::string_view where, std::string_view field, const std::string& model,
                        const ModelCatalog& catalog) {
  if (catalog.Knows(model)) return absl::OkStatus();
  return InvalidField(
      where, field, Quoted(model),
      absl::StrCat("did you mean '", catalog.Nearest(model),
                   "'? A name outside the catalogue must be declared opaque first"));
}

absl::Status QuantityStatus(QuantityError error, std::string_view field, double value) {
  std::string remedy;
  switch (error) {
    case QuantityError::kNone:
      return absl::OkStatus();
    case QuantityError::kNotFinite:
      remedy = "use a finite number";
      break;
    case QuantityError::kNegative:
      remedy = "use 0 or more";
      break;
    case QuantityError::kBelowResolution:
      remedy = "the resolution is 0.001; use 0 or at least 0.001";
      break;
    case QuantityError::kNotWhole:
      remedy = "use a share below 1 or a whole number of devices";
      break;
    case QuantityError::kTooLarge:
      remedy = absl::StrCat("use at most ", kMaxQuantity / kMilli);
      break;
  }
  // A NaN's sign says nothing.
  const std::string shown = std::isnan(value) ? "nan" : absl::StrFormat("%g", value);
  return InvalidField("", field, shown, remedy);
}

// Partitions that the model can have, none over another, at most one with media extensions.
absl::Status CheckPartitions(std::string_view where, const std::string& prefix,
                             const DeviceSpec& device, const MigGeometry& geometry) {
  SliceMask taken = 0;
  bool media = false;
  for (std::size_t i = 0; i < device.partitions.size(); ++i) {
    const MigPartition& partition = device.partitions[i];
    const std::string entry = absl::StrCat(prefix, "partitions[", i, "].");
    const auto profile = geometry.FindProfile(partition.profile);
    if (!profile) {
      std::string known;
      for (const MigProfile& each : geometry.spec().profiles) {
        absl::StrAppend(&known, known.empty() ? "" : ", ", each.name);
      }
      return InvalidField(where, entry + "profile", Quoted(partition.profile),
                          absl::StrCat("profiles of '", device.model, "' are ", known));
    }
    if (!geometry.LegalStart(*profile, partition.start)) {
      std::string starts;
      for (const std::int32_t start : geometry.profile(*profile).starts) {
        absl::StrAppend(&starts, starts.empty() ? "" : ", ", start);
      }
      return InvalidField(
          where, entry + "start", absl::StrCat(partition.start),
          absl::StrCat("'", partition.profile, "' of '", device.model, "' starts at ", starts));
    }
    const SliceMask slices = geometry.Footprint(*profile, partition.start);
    if ((slices & taken) != 0) {
      return InvalidField(where, entry + "start", absl::StrCat(partition.start),
                          "it overlaps a partition before it; instances share no memory slice");
    }
    taken = static_cast<SliceMask>(taken | slices);
    if (!geometry.profile(*profile).media_extensions) continue;
    if (media) {
      return InvalidField(where, entry + "profile", Quoted(partition.profile),
                          "a device has one instance with media extensions at most");
    }
    media = true;
  }
  return absl::OkStatus();
}

// How the device is shared (docs/devices.md).
absl::Status CheckSharing(std::string_view where, const std::string& prefix,
                          const DeviceSpec& device, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, prefix + "reserved_mem_mib", device.reserved_mem_mib, kMaxQuantity));
  if (device.reserved_mem_mib > device.gpu_mem_mib.value_or(0)) {
    return InvalidField(where, prefix + "reserved_mem_mib", absl::StrCat(device.reserved_mem_mib),
                        device.gpu_mem_mib
                            ? absl::StrCat("use 0 to gpu_mem_mib, ", *device.gpu_mem_mib)
                            : "say gpu_mem_mib too, of which it is a part");
  }
  const std::string mode(SharingModeName(device.sharing));
  const std::int64_t most = HasReplicas(device.sharing) ? kMaxReplicas : 1;
  if (device.replicas < 1 || device.replicas > most) {
    return InvalidField(where, prefix + "replicas", absl::StrCat(device.replicas),
                        absl::StrCat("with sharing '", mode, "' use 1",
                                     most == 1 ? "" : absl::StrCat(" to ", most)));
  }
  const bool mig = device.sharing == SharingMode::kMig;
  if (!mig && !device.partitions.empty()) {
    return InvalidField(where, prefix + "partitions",
                        absl::StrCat(device.partitions.size(), " partitions"),
                        absl::StrCat("they need sharing 'mig', it is '", mode, "'"));
  }
  if (HasReplicas(device.sharing) && device.partition_on_demand) {
    return InvalidField(where, prefix + "partition_on_demand", "true",
                        absl::StrCat("a device in mode '", mode, "' is not partitioned"));
  }
  if (mig && device.partitions.empty() && !device.partition_on_demand) {
    return InvalidField(where, prefix + "partitions", "none",
                        "with sharing 'mig' name some, or set partition_on_demand");
  }
  if (!mig && !device.partition_on_demand) return absl::OkStatus();
  const auto geometry = catalog.MigOf(device.model);
  if (geometry == nullptr) {
    return InvalidField(where, prefix + (mig ? "sharing" : "partition_on_demand"),
                        mig ? "mig" : "true",
                        absl::StrCat("no MIG geometry is known for model '", device.model, "'"));
  }
  return CheckPartitions(where, prefix, device, *geometry);
}

// Which modes a shape may name.
absl::Status CheckModes(std::string_view where, const ShapeSpec& shape) {
  if (shape.sharing.empty()) return absl::OkStatus();
  const bool memory = shape.gpu_milli == 0 && shape.gpu_mem_mib > 0;
  if (!shape.mig_profile.empty() || shape.gpu_milli == kMilli) {
    return InvalidField(where, "sharing", absl::StrCat(shape.sharing.size(), " modes"),
                        "whole devices are exclusive and MIG instances mig; leave it empty");
  }
  for (std::size_t i = 0; i < shape.sharing.size(); ++i) {
    const SharingMode mode = shape.sharing[i];
    const bool share = mode == SharingMode::kFraction || HasReplicas(mode);
    if (memory || (share && (shape.gpu_milli > 0 || HasReplicas(mode)))) continue;
    return InvalidField(where, absl::StrCat("sharing[", i, "]"), std::string(SharingModeName(mode)),
                        shape.gpu_milli > 0
                            ? "a share is had as fraction, mps or time_slicing"
                            : "a replica is had as mps or time_slicing; ask gpu_mem_mib or "
                              "gpu_milli for other modes");
  }
  return absl::OkStatus();
}

// MIG instances by their profile.
absl::Status CheckProfile(std::string_view where, const ShapeSpec& shape,
                          const ModelCatalog& catalog) {
  if (shape.gpu_milli != 0 || shape.gpu_mem_mib != 0) {
    return InvalidField(where, shape.gpu_milli != 0 ? "gpu_milli" : "gpu_mem_mib",
                        absl::StrCat(shape.gpu_milli != 0 ? shape.gpu_milli : shape.gpu_mem_mib),
                        "an instance has what its profile says; use 0 with mig_profile");
  }
  // Of the named models, or of any.
  std::string known;
  const auto has_it = [&](const MigGeometry& geometry) {
    for (const MigProfile& profile : geometry.spec().profiles) {
      if (profile.name == shape.mig_profile) return true;
      if (!shape.models.empty()) absl::StrAppend(&known, known.empty() ? "" : ", ", profile.name);
    }
    return false;
  };
  for (const std::string& model : shape.models) {
    const auto geometry = catalog.MigOf(model);
    if (geometry != nullptr && has_it(*geometry)) return absl::OkStatus();
  }
  if (shape.models.empty()) {
    for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
      if (has_it(geometry)) return absl::OkStatus();
    }
    for (const auto& geometry : catalog.geometries()) {
      if (has_it(*geometry)) return absl::OkStatus();
    }
  }
  return InvalidField(where, "mig_profile", Quoted(shape.mig_profile),
                      known.empty() ? "use a profile of an allowed model, e.g. '1g.5gb'; see "
                                      "`libgpusched models --mig MODEL`"
                                    : absl::StrCat("the allowed models have ", known));
}

}  // namespace

absl::Status Validate(const NodeSpec& node, const ModelCatalog& catalog) {
  if (node.name.empty()) return InvalidField("node", "name", "''", "give it a unique name");
  const std::string where = "node " + Quoted(node.name);
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "cpu_milli", node.cpu_milli, kMaxQuantity));
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "mem_mib", node.mem_mib, kMaxQuantity));
  if (node.devices.size() > static_cast<std::size_t>(kMaxDevicesPerNode)) {
    return InvalidField(where, "devices", absl::StrCat(node.devices.size(), " devices"),
                        absl::StrCat("use at most ", kMaxDevicesPerNode,
                                     ", or enter the machine as several nodes"));
  }
  std::int64_t gpu_mem_sum = 0;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const DeviceSpec& device = node.devices[i];
    const std::string prefix = absl::StrCat("devices[", i, "].");
    GPUSCHED_RETURN_IF_ERROR(CheckModel(where, prefix + "model", device.model, catalog));
    GPUSCHED_RETURN_IF_ERROR(CheckRange(where, prefix + "gpu_milli", device.gpu_milli, kMilli));
    if (!device.gpu_mem_mib.has_value()) continue;
    GPUSCHED_RETURN_IF_ERROR(
        CheckRange(where, prefix + "gpu_mem_mib", *device.gpu_mem_mib, kMaxQuantity));
    gpu_mem_sum += *device.gpu_mem_mib;  // at most 64 · 2^40
  }
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    GPUSCHED_RETURN_IF_ERROR(
        CheckSharing(where, absl::StrCat("devices[", i, "]."), node.devices[i], catalog));
  }
  return CheckRange(where, "sum of devices[].gpu_mem_mib", gpu_mem_sum, kMaxQuantity);
}

absl::Status Validate(const ShapeSpec& shape, const ModelCatalog& catalog) {
  return Validate(shape, catalog, "shape");
}

absl::Status Validate(const ShapeSpec& shape, const ModelCatalog& catalog, std::string_view where) {
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "cpu_milli", shape.cpu_milli, kMaxQuantity));
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "mem_mib", shape.mem_mib, kMaxQuantity));
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "gpu_mem_mib", shape.gpu_mem_mib, kMaxQuantity));
  if (shape.gpu_count < 0 || shape.gpu_count > kMaxDevicesPerNode) {
    return InvalidField(where, "gpu_count", absl::StrCat(shape.gpu_count),
                        absl::StrCat("one task uses 0 to ", kMaxDevicesPerNode,
                                     " devices of one node; larger jobs are several tasks"));
  }
  if (shape.gpu_count == 0) {
    if (shape.gpu_milli != 0 || shape.gpu_mem_mib != 0) {
      return InvalidField(where, shape.gpu_milli != 0 ? "gpu_milli" : "gpu_mem_mib",
                          absl::StrCat(shape.gpu_milli != 0 ? shape.gpu_milli : shape.gpu_mem_mib),
                          "a shape with gpu_count 0 asks no GPU; use 0");
    }
    if (!shape.models.empty()) {
      return InvalidField(where, "models", absl::StrCat(shape.models.size(), " names"),
                          "a shape with gpu_count 0 asks no GPU; leave models empty");
    }
    if (!shape.mig_profile.empty() || !shape.sharing.empty() || shape.distinct_devices) {
      return InvalidField(where, "gpu_count", "0",
                          "it asks no GPU, but mig_profile, sharing or distinct_devices does");
    }
    return absl::OkStatus();
  }
  const bool profile = !shape.mig_profile.empty();
  if (shape.distinct_devices && !profile) {
    return InvalidField(where, "distinct_devices", "true",
                        "whole devices are distinct anyhow; it goes with mig_profile");
  }
  GPUSCHED_RETURN_IF_ERROR(CheckModes(where, shape));
  const bool replica = shape.gpu_milli == 0 && shape.gpu_mem_mib == 0 && !shape.sharing.empty();
  const bool memory = shape.gpu_milli == 0 && shape.gpu_mem_mib > 0;
  if (profile) {
    GPUSCHED_RETURN_IF_ERROR(CheckProfile(where, shape, catalog));
  } else if ((shape.gpu_milli < 1 && !replica && !memory) || shape.gpu_milli < 0 ||
             shape.gpu_milli > kMilli) {
    return InvalidField(where, "gpu_milli", absl::StrCat(shape.gpu_milli),
                        "use 1 to 999 for a share of one device, 1000 for whole devices; 0 goes "
                        "with gpu_mem_mib, with mig_profile, or with sharing mps or time_slicing");
  }
  if (shape.gpu_count > 1 && shape.gpu_milli < kMilli && !profile) {
    return InvalidField(where, "gpu_milli", absl::StrCat(shape.gpu_milli),
                        absl::StrCat("a task on ", shape.gpu_count,
                                     " devices takes whole ones; use 1000 for whole devices"));
  }
  for (std::size_t i = 0; i < shape.models.size(); ++i) {
    GPUSCHED_RETURN_IF_ERROR(
        CheckModel(where, absl::StrCat("models[", i, "]"), shape.models[i], catalog));
  }
  return absl::OkStatus();
}

absl::StatusOr<GpuAsk> GpuAskFromGpus(double gpus) {
  const MilliResult result = MilliFromGpus(gpus);
  if (!result.ok()) return QuantityStatus(result.error, "gpu", gpus);
  if (result.milli == 0) return GpuAsk{};
  if (result.milli <= kMilli) return GpuAsk{.count = 1, .milli = result.milli};
  return GpuAsk{.count = result.milli / kMilli, .milli = kMilli};
}

absl::StatusOr<std::int64_t> CpuMilliFromCores(double cores) {
  const MilliResult result = MilliFromUnits(cores);
  if (!result.ok()) return QuantityStatus(result.error, "cpu", cores);
  return result.milli;
}

}  // namespace gpusched
