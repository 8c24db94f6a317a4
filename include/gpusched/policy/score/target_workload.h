// TargetWorkload: which requests are expected, and how often.
#ifndef GPUSCHED_POLICY_SCORE_TARGET_WORKLOAD_H_
#define GPUSCHED_POLICY_SCORE_TARGET_WORKLOAD_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/spec/shape_spec.h"

namespace gpusched {

// One kind of request of a target: what it asks and its weight (a count, at least 1).
struct TargetShape {
  std::int64_t cpu_milli = 0;
  std::int64_t gpu_milli = 0;
  std::int64_t gpu_count = 0;
  std::vector<std::string> models;  // sorted, each once; empty: any
  std::int64_t count = 0;
  std::int64_t gpu_mem_mib = 0;  // on each of the devices
  std::string mig_profile = {};  // of each of gpu_count instances, with gpu_milli 0

  friend bool operator==(const TargetShape&, const TargetShape&) = default;
};

// The distribution that fragmentation is measured against. Host memory is left out, as in the
// source.
class GPUSCHED_EXPORT TargetWorkload {
 public:
  // Most weight that a target may have in all, so that sums of weight × milli stay inside 64 bits.
  static constexpr std::int64_t kMaxWeight = std::int64_t{1} << 23;

  // Counts requests by (cpu, gpu, count, models, memory, profile), most frequent first (ties: the
  // larger request first, by cpu, gpu_milli, gpu_count, models, gpu_mem_mib, mig_profile), and
  // keeps the head that makes up `popularity_pct` of all requests (0 keeps none, 100 all). Weng et
  // al., ATC 2023, section 4.1 ("typical" tasks; 95 % there). O(requests · log). An empty list
  // gives an empty target, against which nothing is a fragment.
  static TargetWorkload FromRequests(std::span<const ShapeSpec> requests, int popularity_pct = 95);

  // A target given outright; counts of equal shapes are added. O(shapes²). Errors: kInvalidArgument
  // for a count below 1.
  static absl::StatusOr<TargetWorkload> FromShapes(std::vector<TargetShape> shapes);

  std::span<const TargetShape> shapes() const { return shapes_; }
  // Sum of the counts.
  std::int64_t total() const { return total_; }

 private:
  std::vector<TargetShape> shapes_;
  std::int64_t total_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_TARGET_WORKLOAD_H_
