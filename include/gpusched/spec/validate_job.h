// Validate for jobs and events: the gate at which they enter an engine, as far as they can be
// checked without its state. What needs the state (live names, what is free) the engine checks.
#ifndef GPUSCHED_SPEC_VALIDATE_JOB_H_
#define GPUSCHED_SPEC_VALIDATE_JOB_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "gpusched/export.h"
#include "gpusched/spec/event.h"
#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/job_spec.h"
#include "gpusched/spec/task_key.h"

namespace gpusched {

// Longest name (of a job, group, queue, node, hold, owner, label), in bytes of UTF-8.
inline constexpr std::size_t kMaxNameBytes = 256;
inline constexpr std::size_t kMaxGroups = 64;        // of one alternative
inline constexpr std::size_t kMaxAlternatives = 16;  // besides JobSpec::groups
inline constexpr std::size_t kMaxLabels = 64;        // also of affinity, and of anti_affinity
inline constexpr std::int64_t kMaxCoScheduled = 1024;
inline constexpr std::int64_t kMinPriority = -(std::int64_t{1} << 31);
inline constexpr std::int64_t kMaxPriority = (std::int64_t{1} << 31) - 1;
// Most that the tasks of one alternative may ask of one resource together.
inline constexpr std::int64_t kMaxJobTotal = std::int64_t{1} << 62;

// All errors are kInvalidArgument and name the field, the value and the remedy. Names are 1 to 256
// bytes of UTF-8 without control characters, those of groups without '/'.

// Checks names, counts, ranges, shapes, and that no total over tasks overflows. O(groups × models).
GPUSCHED_EXPORT absl::Status Validate(const JobSpec& job, const ModelCatalog& catalog);

// Checks the parts that are there as Validate(NodeSpec) does, and the foreign amounts.
GPUSCHED_EXPORT absl::Status Validate(const UpdateNode& update, const ModelCatalog& catalog);

// Checks the parts that are there as Validate(JobSpec) does. `min_available` is compared with
// `count` only if both are there; totals are for the engine, which knows the other groups.
GPUSCHED_EXPORT absl::Status Validate(const UpdateJob& update, const ModelCatalog& catalog);

// Checks names, shape and time, and that as many devices are named as the shape asks.
GPUSCHED_EXPORT absl::Status Validate(const HoldCapacity& hold, const ModelCatalog& catalog);

// Checks names, an index in [0, kMaxTasksPerJob) and an attempt from 1 on.
GPUSCHED_EXPORT absl::Status Validate(const TaskKey& task);

// Checks any event by the rules of what it carries.
GPUSCHED_EXPORT absl::Status Validate(const Event& event, const ModelCatalog& catalog);

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_VALIDATE_JOB_H_
