// Validate and Add: the gate at which a user's own GPU models and MIG geometries enter a catalogue.
#ifndef GPUSCHED_SPEC_VALIDATE_MODEL_H_
#define GPUSCHED_SPEC_VALIDATE_MODEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "gpusched/export.h"
#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/mig_geometry.h"

namespace gpusched {

// Most memory of a MIG instance or a model; a pebibyte.
inline constexpr std::int64_t kMaxModelMemMib = std::int64_t{1} << 30;
inline constexpr std::int32_t kMaxMigComputeSlices = 64;
// Bound of MigGeometry::Value: the product over profiles of the number of starts and one.
inline constexpr std::int32_t kMaxMigValue = 1 << 15;

// All errors are kInvalidArgument and name the field, the value and the remedy. Names are 1 to 256
// bytes; `unsourced` names fields.

// Checks names, ranges and starts, and that no set of instances that can be there together takes
// more compute slices than there are. Starts of one profile must not overlap each other: then the
// number of instances of it that can be placed at once is simply the number of its free starts.
// O(256 · profiles · starts).
GPUSCHED_EXPORT absl::Status Validate(const MigGeometrySpec& geometry);

// Checks names and ranges, and that its geometry is one of the catalogue.
GPUSCHED_EXPORT absl::Status Validate(const GpuModel& model, const ModelCatalog& catalog);

// Checks, then takes it in. One of the name is replaced, or comes before a built-in one.
GPUSCHED_EXPORT absl::Status AddModel(ModelCatalog& catalog, GpuModel model);
GPUSCHED_EXPORT absl::Status AddMigGeometry(ModelCatalog& catalog, MigGeometrySpec geometry);

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_VALIDATE_MODEL_H_
