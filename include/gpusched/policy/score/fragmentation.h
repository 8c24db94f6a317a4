// FragmentTable: how much of a node's idle GPU the expected tasks cannot use.
#ifndef GPUSCHED_POLICY_SCORE_FRAGMENTATION_H_
#define GPUSCHED_POLICY_SCORE_FRAGMENTATION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/base/quantity.h"
#include "gpusched/export.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/device_choice.h"

namespace gpusched {

// The fragment F of a node against a target: for each target task, the idle GPU-milli that it could
// not use there (all of it, if the task does not fit or asks no GPU; else the devices with less
// left than it asks), averaged by weight. Weng et al., ATC 2023, section 4.2. In integers: F is
// kept multiplied by the target's total weight.
//
// Generalised to memory and MIG slices: a device with less memory left than the target task asks,
// or without a free start for it, is one that it could not use; and what is idle on a device that
// is partitioned is its free compute slices, in milli. With targets that ask shares and whole
// devices alone, on plain nodes, this is the published measure.
//
// It is evaluated as idle minus usable, where usable is a sum over devices of table entries: a task
// on one device can use each device with room, a task on n whole devices the wholly free ones if
// they are n. Tables are indexed by model, by CPU bucket (how many of the target's CPU requests the
// free CPU covers) and by what is left. On nodes that are not plain, with targets that ask memory
// or instances, and on mixed nodes, it is evaluated target by target.
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

  // Usable after placing a task there. Same cost.
  std::int64_t UsableAfter(const NodeView& node, const Shape& shape,
                           const DeviceChoice& choice) const;

  // UsableAfter − Usable, in one go.
  std::int64_t UsableChange(const NodeView& node, const Shape& shape,
                            const DeviceChoice& choice) const;

  // Usable idle GPU-milli × total weight on each device of the node; their sum is Usable.
  // O(devices × target shapes).
  std::vector<std::int64_t> UsableByDevice(const NodeView& node) const;

  // Whether Usable of the node is a sum over the amounts that are left on its devices, so that a
  // Row tells it.
  bool ByAmounts(const NodeView& node) const {
    return plain_ && node.plain() && node.one_model() && !targets_.empty() && !cpu_bucket_.empty();
  }
  // The sum's terms for devices of one model beside so much free CPU: Usable is Σ Part over the
  // devices, which is 0 for one with nothing left, + Whole of how many are wholly free.
  struct Row {
    const std::uint16_t* bucket = nullptr;  // by milli left
    const std::int64_t* one = nullptr;      // by bucket
    const std::int64_t* many = nullptr;     // by count

    std::int64_t Part(std::int64_t left) const {
      return left * one[bucket[static_cast<std::size_t>(left)]];
    }
    std::int64_t Whole(std::size_t count) const {
      return kMilli * static_cast<std::int64_t>(count) * many[count];
    }
  };
  // There is one for each model and each bucket of free CPU; a row's number is below rows().
  std::size_t rows() const { return models_ * (cpu_bounds_.size() + 1); }
  std::size_t RowNumber(std::uint32_t model, std::int64_t cpu_free) const {
    return FirstRow(model) + CpuBucket(cpu_free);
  }
  // The same in two parts. CPU counts in whole quanta: FirstRow + BucketOf(cpu_free / quantum,
  // rounded down).
  std::size_t FirstRow(std::uint32_t model) const {
    return std::min<std::size_t>(model, models_ - 1) * (cpu_bounds_.size() + 1);
  }
  std::int64_t cpu_quantum() const { return cpu_quantum_; }
  std::size_t BucketOf(std::int64_t quanta) const {
    const auto last = static_cast<std::int64_t>(cpu_bucket_.size()) - 1;
    return cpu_bucket_[static_cast<std::size_t>(std::clamp<std::int64_t>(quanta, 0, last))];
  }
  Row RowAt(std::size_t number) const {
    return {.bucket = left_bucket_.data(),
            .one = one_device_.data() + number * left_buckets_,
            .many = many_devices_.data() + number * kWholeCounts};
  }

  // F × total weight: idle × total weight − usable.
  std::int64_t Fragment(const NodeView& node) const {
    return node.gpu_free_milli() * total_weight_ - Usable(node);
  }

 private:
  static constexpr std::size_t kWholeCounts = static_cast<std::size_t>(kMaxDevicesPerNode) + 1;

  struct Target {
    Shape shape;  // its cpu_milli as scores count it
    std::int64_t weight = 0;
  };

  template <class LeftOf>
  std::int64_t UsableWith(const NodeView& node, std::int64_t cpu_free, LeftOf left_of) const;
  // By the definition, target by target; `free_of(i)` is what the device has.
  template <class FreeOf>
  std::vector<std::int64_t> UsableByDefinition(const NodeView& node, std::int64_t cpu_free,
                                               FreeOf free_of) const;
  // How many of the bounds the free CPU covers.
  std::size_t CpuBucket(std::int64_t cpu_free) const {
    if (cpu_bucket_.empty()) return SearchCpuBucket(cpu_free);
    return cpu_free < 0 ? 0 : BucketOf(cpu_free / cpu_quantum_);
  }
  std::size_t SearchCpuBucket(std::int64_t cpu_free) const;
  void SetCpuBuckets();

  std::int64_t total_weight_ = 0;
  bool plain_ = true;                     // targets ask shares and whole devices alone
  std::vector<Target> targets_;           // those that ask GPU
  std::vector<std::int64_t> cpu_bounds_;  // their CPU requests, ascending
  // Bounds are multiples of the quantum; the bucket by how many quanta are free. Empty: they are
  // too many.
  std::int64_t cpu_quantum_ = 1;
  std::vector<std::uint16_t> cpu_bucket_ = {0};
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
