#include "gpusched/spec/validate_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate_job.h"

namespace gpusched {
namespace {

// Far above any device: 2^50 GFLOPS is a million exaflops.
constexpr std::int64_t kMaxRate = std::int64_t{1} << 50;

// What messages show of a name that may be long or odd.
std::string Shown(std::string_view name) {
  constexpr std::size_t kHead = 64;
  const std::string_view head = name.substr(0, kHead);
  return Quoted(absl::StrCat(absl::CHexEscape(absl::string_view(head.data(), head.size())),
                             head.size() < name.size() ? "…" : ""));
}

// A text that may be empty.
absl::Status CheckText(std::string_view where, std::string_view field, std::string_view text) {
  if (text.size() <= kMaxNameBytes) return absl::OkStatus();
  return InvalidField(where, field, absl::StrCat(text.size(), " bytes long (", Shown(text), ")"),
                      absl::StrCat("use at most ", kMaxNameBytes, " bytes"));
}

absl::Status CheckName(std::string_view where, std::string_view field, std::string_view name) {
  if (name.empty()) return InvalidField(where, field, "''", "give it a name");
  return CheckText(where, field, name);
}

absl::Status CheckRange(std::string_view where, std::string_view field, std::int64_t value,
                        std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(where, field, absl::StrCat(value), absl::StrCat("use ", least, " to ", most));
}

absl::Status CheckProfile(std::string_view where, const MigGeometrySpec& geometry,
                          std::size_t index) {
  const MigProfile& profile = geometry.profiles[index];
  const std::string entry = absl::StrCat("profiles[", index, "].");
  GPUSCHED_RETURN_IF_ERROR(CheckName(where, entry + "name", profile.name));
  for (std::size_t i = 0; i < index; ++i) {
    if (geometry.profiles[i].name != profile.name) continue;
    return InvalidField(where, entry + "name", Quoted(profile.name),
                        absl::StrCat("profiles[", i, "] has it already"));
  }
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, entry + "compute_slices", profile.compute_slices, 1,
                                      geometry.compute_slices));
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, entry + "memory_slices", profile.memory_slices, 1, geometry.memory_slices));
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, entry + "mem_mib", profile.mem_mib, 0, kMaxModelMemMib));
  if (profile.starts.empty()) {
    return InvalidField(where, entry + "starts", "none", "name at least one legal start");
  }
  for (std::size_t i = 0; i < profile.starts.size(); ++i) {
    const std::string field = absl::StrCat(entry, "starts[", i, "]");
    const std::int32_t least = i == 0 ? 0 : profile.starts[i - 1] + profile.memory_slices;
    const std::int32_t most = geometry.memory_slices - profile.memory_slices;
    if (profile.starts[i] >= least && profile.starts[i] <= most) continue;
    return InvalidField(where, field, absl::StrCat(profile.starts[i]),
                        least <= most
                            ? absl::StrCat("use ", least, " to ", most,
                                           "; starts are ascending, and memory_slices apart")
                            : std::string("leave it out; there are no slices left for it"));
  }
  return absl::OkStatus();
}

// Fields that are said to have no source must be fields.
absl::Status CheckUnsourced(std::string_view where, const std::vector<std::string>& unsourced,
                            std::span<const std::string_view> fields) {
  for (std::size_t i = 0; i < unsourced.size(); ++i) {
    if (std::find(fields.begin(), fields.end(), unsourced[i]) != fields.end()) continue;
    std::string remedy = "name a field:";
    for (std::size_t k = 0; k < fields.size(); ++k) {
      absl::StrAppend(&remedy, k == 0 ? " " : ", ", std::string(fields[k]));
    }
    return InvalidField(where, absl::StrCat("unsourced[", i, "]"), Shown(unsourced[i]), remedy);
  }
  return absl::OkStatus();
}

// The most compute slices that instances without a common memory slice can take together.
std::int32_t MostCompute(const MigGeometrySpec& geometry) {
  std::array<std::int32_t, 256> most;  // by occupied memory slices; -1: no instances do that
  most.fill(-1);
  most[0] = 0;
  std::int32_t best = 0;
  // Footprints only add bits, so each set is complete when it is come to.
  for (unsigned occupied = 0; occupied < most.size(); ++occupied) {
    if (most[occupied] < 0) continue;
    best = std::max(best, most[occupied]);
    for (const MigProfile& profile : geometry.profiles) {
      for (const std::int32_t start : profile.starts) {
        const unsigned slices = ((1U << profile.memory_slices) - 1U) << start;
        if ((slices & occupied) != 0) continue;
        std::int32_t& with = most[occupied | slices];
        with = std::max(with, most[occupied] + profile.compute_slices);
      }
    }
  }
  return best;
}

}  // namespace

absl::Status Validate(const MigGeometrySpec& geometry) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("MIG geometry", "name", geometry.name));
  const std::string where = "MIG geometry " + Quoted(geometry.name);
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, "compute_slices", geometry.compute_slices, 1, kMaxMigComputeSlices));
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, "memory_slices", geometry.memory_slices, 1, kMaxMigSlices));
  if (geometry.profiles.empty() || geometry.profiles.size() > kMaxMigProfiles) {
    return InvalidField(where, "profiles", absl::StrCat(geometry.profiles.size(), " profiles"),
                        absl::StrCat("use 1 to ", kMaxMigProfiles));
  }
  std::int64_t value = 1;  // at most 9^16: the starts of each have been checked
  for (std::size_t i = 0; i < geometry.profiles.size(); ++i) {
    GPUSCHED_RETURN_IF_ERROR(CheckProfile(where, geometry, i));
    if (geometry.profiles[i].media_extensions) continue;
    value *= static_cast<std::int64_t>(geometry.profiles[i].starts.size() + 1);
  }
  if (value > kMaxMigValue) {
    return InvalidField(where, "profiles", "too many starts",
                        absl::StrCat("the product of (starts + 1) over profiles without media "
                                     "extensions is at most ",
                                     kMaxMigValue));
  }
  constexpr std::string_view kFields[] = {"compute_slices", "memory_slices", "mem_mib", "starts"};
  GPUSCHED_RETURN_IF_ERROR(CheckUnsourced(where, geometry.unsourced, kFields));
  if (const std::int32_t most = MostCompute(geometry); most > geometry.compute_slices) {
    return InvalidField(where, "compute_slices", absl::StrCat(geometry.compute_slices),
                        absl::StrCat("instances side by side can take ", most,
                                     "; raise it, or lower those of the profiles"));
  }
  return absl::OkStatus();
}

absl::Status Validate(const GpuModel& model, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("GPU model", "name", model.name));
  const std::string where = "GPU model " + Quoted(model.name);
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, "memory_gib", model.memory_gib, 0, kMaxModelMemMib / 1024));
  GPUSCHED_RETURN_IF_ERROR(CheckText(where, "vendor", model.vendor));
  GPUSCHED_RETURN_IF_ERROR(CheckText(where, "architecture", model.architecture));
  GPUSCHED_RETURN_IF_ERROR(CheckText(where, "compute_capability", model.compute_capability));
  const std::pair<std::string_view, std::optional<std::int64_t>> numbers[] = {
      {"fp64", model.peak.fp64},
      {"fp64_tensor", model.peak.fp64_tensor},
      {"fp32", model.peak.fp32},
      {"tf32", model.peak.tf32},
      {"fp16", model.peak.fp16},
      {"bf16", model.peak.bf16},
      {"fp8", model.peak.fp8},
      {"int8", model.peak.int8},
      {"bandwidth_gbs", model.bandwidth_gbs},
      {"tdp_w", model.tdp_w},
      {"nvlink_gbs", model.nvlink_gbs}};
  std::vector<std::string_view> fields = {"memory_gib"};
  for (const auto& [field, number] : numbers) {
    GPUSCHED_RETURN_IF_ERROR(CheckRange(where, field, number.value_or(0), 0, kMaxRate));
    fields.push_back(field);
  }
  GPUSCHED_RETURN_IF_ERROR(CheckUnsourced(where, model.unsourced, fields));
  if (model.mig.empty() || catalog.FindMig(model.mig) != nullptr) return absl::OkStatus();
  return InvalidField(where, "mig", Shown(model.mig),
                      "name a geometry of the catalogue, or add it first; empty: no MIG");
}

absl::Status AddModel(ModelCatalog& catalog, GpuModel model) {
  GPUSCHED_RETURN_IF_ERROR(Validate(model, catalog));
  catalog.Put(std::move(model));
  return absl::OkStatus();
}

absl::Status AddMigGeometry(ModelCatalog& catalog, MigGeometrySpec geometry) {
  GPUSCHED_RETURN_IF_ERROR(Validate(geometry));
  catalog.Put(std::move(geometry));
  return absl::OkStatus();
}

}  // namespace gpusched
