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
    return absl::OkStatus();
  }
  if (shape.gpu_milli < 1 || shape.gpu_milli > kMilli) {
    return InvalidField(where, "gpu_milli", absl::StrCat(shape.gpu_milli),
                        "use 1 to 999 for a share of one device, 1000 for whole devices");
  }
  if (shape.gpu_count > 1 && shape.gpu_milli < kMilli) {
    return InvalidField(
        where, "gpu_milli", absl::StrCat(shape.gpu_milli),
        absl::StrCat("a task on ", shape.gpu_count, " devices takes whole ones; use 1000"));
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
