// Validate: the gate at which specs enter. What passes here cannot overflow or confuse the ledger.
#ifndef GPUSCHED_SPEC_VALIDATE_H_
#define GPUSCHED_SPEC_VALIDATE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/shape_spec.h"

namespace gpusched {

// Checks names, ranges, sums over devices, and models against the catalogue. Errors are
// kInvalidArgument and name the field, the value and the remedy. O(devices × models).
GPUSCHED_EXPORT absl::Status Validate(const NodeSpec& node, const ModelCatalog& catalog);
GPUSCHED_EXPORT absl::Status Validate(const ShapeSpec& shape, const ModelCatalog& catalog);

// The same for a shape inside something larger, which `where` names in messages.
GPUSCHED_EXPORT absl::Status Validate(const ShapeSpec& shape, const ModelCatalog& catalog,
                                      std::string_view where);

// What a number of GPUs means for a shape: `count` devices with `milli` of each.
struct GpuAsk {
  std::int64_t count = 0;
  std::int64_t milli = 0;
};

// Turns "0.5 GPU" or "2 GPUs" into an ask: a share of one device is rounded to the nearest milli
// once; 0 asks nothing. NaN, infinite, negative, under 0.001, or above 1 and not whole is refused.
GPUSCHED_EXPORT absl::StatusOr<GpuAsk> GpuAskFromGpus(double gpus);

// Turns a number of CPU cores into milli under the same rules (1.5 cores are fine).
GPUSCHED_EXPORT absl::StatusOr<std::int64_t> CpuMilliFromCores(double cores);

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_VALIDATE_H_
