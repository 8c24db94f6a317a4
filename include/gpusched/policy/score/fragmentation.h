// FragmentTable: how much of a node's idle GPU the expected tasks cannot use.
#ifndef GPUSCHED_POLICY_SCORE_FRAGMENTATION_H_
#define GPUSCHED_POLICY_SCORE_FRAGMENTATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/base/quantity.h"
#include "gpusched/export.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// The fragment F of a node against a target: for each target task, the idle GPU-milli that it could
// not use there (all of it, if the task does not fit or asks no GPU; else the devices with less
// left than it asks), averaged by weight. Weng et al., ATC 2023, section 4.2. In integers: F is
// kept multiplied by the target's total weight.
//
// It is evaluated as idle minus usable, where usable is a sum over devices of table entries: a task
// on one device can use each device with room, a task on n whole devices the wholly free ones if
// they are n. Tables are indexed by model, by CPU bucket (how many of the target's CPU requests the
// free CPU covers) and by what is left.
class GPUSCHED_EXPORT FragmentTable {
 public:
  // An empty table: nothing is a fragment.
  FragmentTable() = default;

  // Interns the target's models in `state`. Errors: kInvalidArgument (a model that is not known, a
  // quantity out of range), kResourceExhausted (65th model name).
  static absl::StatusOr<FragmentTable> Build(const TargetWorkload& target, ClusterState& state);

  std::int64_t total_weight() const { return total_weight_; }

  // Usable idle GPU-milli × total weight. O(devices + target shapes on mixed nodes).
  std::int64_t Usable(const NodeView& node) const;

  // Usable after placing a task on `devices`. Same cost.
  std::int64_t UsableAfter(const NodeView& node, const Shape& shape, DeviceMask devices) const;

  // F × total weight: idle × total weight − usable.
  std::int64_t Fragment(const NodeView& node) const {
    return node.gpu_free_milli() * total_weight_ - Usable(node);
  }

 private:
  struct Target {
    std::int64_t cpu_milli = 0;
    std::int32_t gpu_milli = 0;
    std::int32_t gpu_count = 0;
    ModelMask models = kAnyModel;
    std::int64_t weight = 0;
  };

  template <class LeftOf>
  std::int64_t UsableWith(const NodeView& node, std::int64_t cpu_free, LeftOf left_of) const;
  template <class LeftOf>
  std::int64_t UsableMixed(const NodeView& node, std::int64_t cpu_free, LeftOf left_of) const;
  std::size_t CpuBucket(std::int64_t cpu_free) const;

  std::int64_t total_weight_ = 0;
  std::vector<Target> targets_;                          // those that ask GPU
  std::vector<std::int64_t> cpu_bounds_;                 // their CPU requests, ascending
  std::array<std::uint16_t, kMilli + 1> left_bucket_{};  // by milli left
  std::size_t left_buckets_ = 0;
  std::size_t models_ = 0;
  // Weight of the one-device targets that fit: [model][cpu bucket][left bucket].
  std::vector<std::int64_t> one_device_;
  // Weight of the targets on several devices that fit: [model][cpu bucket][wholly free devices].
  std::vector<std::int64_t> many_devices_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_FRAGMENTATION_H_
