// The payload of a commit record: what the plan does, and a digest of all that it says.
#ifndef GPUSCHED_JOURNAL_COMMIT_RECORD_H_
#define GPUSCHED_JOURNAL_COMMIT_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gpusched/decision/plan.h"
#include "gpusched/export.h"

namespace gpusched {

// A plan of hundreds of waiting jobs mostly says again what the one before has said, so reasons are
// not written; deciding anew gives them back, and the digest shows that they are the same.
struct CommitRecord {
  Plan plan;                 // without Wait and Reject
  std::uint64_t digest = 0;  // of the bytes of the whole plan
};

// The plan with nothing but its placements and evictions.
GPUSCHED_EXPORT Plan WithoutWaits(const Plan& plan);
// FNV-1a of Encode(plan).
GPUSCHED_EXPORT std::uint64_t PlanDigest(const Plan& plan);
GPUSCHED_EXPORT std::string EncodeCommit(const Plan& plan);
// Errors: kDataLoss.
GPUSCHED_EXPORT absl::StatusOr<CommitRecord> DecodeCommit(std::string_view payload);

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_COMMIT_RECORD_H_
