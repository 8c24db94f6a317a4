#include "gpusched/journal/commit_record.h"

#include <utility>
#include <vector>

#include "gpusched/base/digest.h"
#include "gpusched/journal/codec.h"

namespace gpusched {

Plan WithoutWaits(const Plan& plan) {
  std::vector<Step> steps;
  for (const Step& step : plan.steps()) {
    if (std::holds_alternative<Place>(step) || std::holds_alternative<Evict>(step)) {
      steps.push_back(step);
    }
  }
  return Plan(plan.now(), plan.version(), plan.searches(), std::move(steps));
}

std::uint64_t PlanDigest(const Plan& plan) { return Digest().AddBytes(Encode(plan)).value(); }

std::string EncodeCommit(const Plan& plan) {
  ByteWriter out;
  out.Fixed64(PlanDigest(plan));
  Write(out, WithoutWaits(plan));
  return out.Take();
}

absl::StatusOr<CommitRecord> DecodeCommit(std::string_view payload) {
  ByteReader in(payload);
  CommitRecord record;
  if (!in.Fixed64(record.digest) || !Read(in, record.plan) || !in.AtEnd()) {
    return absl::DataLossError("it is no commit record");
  }
  return record;
}

}  // namespace gpusched
