#include "gpusched/policy/score/fragmentation.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/policy/score/norms.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

constexpr std::size_t kWholeCounts = static_cast<std::size_t>(kMaxDevicesPerNode) + 1;

template <class T>
void SortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

absl::StatusOr<FragmentTable> FragmentTable::Build(const TargetWorkload& target,
                                                   ClusterState& state) {
  if (target.total() > TargetWorkload::kMaxWeight) {
    return InvalidField("target", "total weight", absl::StrCat(target.total()),
                        absl::StrCat("use at most ", TargetWorkload::kMaxWeight));
  }
  FragmentTable table;
  table.total_weight_ = target.total();
  std::vector<std::int32_t> left_bounds;
  for (const TargetShape& wanted : target.shapes()) {
    const auto id = state.Intern({.cpu_milli = wanted.cpu_milli,
                                  .mem_mib = 0,
                                  .gpu_count = wanted.gpu_count,
                                  .gpu_milli = wanted.gpu_milli,
                                  .gpu_mem_mib = 0,
                                  .models = wanted.models});
    if (!id.ok()) return id.status();
    const Shape& shape = state.shapes()[*id];
    if (!shape.asks_gpu()) continue;  // to a task without GPU, every idle GPU is a fragment
    table.targets_.push_back({.cpu_milli = ScoredCpu(shape),
                              .gpu_milli = shape.gpu_milli,
                              .gpu_count = shape.gpu_count,
                              .models = shape.models,
                              .weight = wanted.count});
    table.cpu_bounds_.push_back(ScoredCpu(shape));
    if (shape.gpu_count == 1) left_bounds.push_back(shape.gpu_milli);
  }
  SortUnique(table.cpu_bounds_);
  SortUnique(left_bounds);
  for (std::size_t left = 0; left < table.left_bucket_.size(); ++left) {
    table.left_bucket_[left] = static_cast<std::uint16_t>(
        std::upper_bound(left_bounds.begin(), left_bounds.end(), static_cast<std::int32_t>(left)) -
        left_bounds.begin());
  }

  // A model that joins later is like one that only tasks for any model allow; it gets the extra
  // row.
  table.models_ = state.models().size() + std::size_t{1};
  table.left_buckets_ = left_bounds.size() + 1;
  const std::size_t cpu_buckets = table.cpu_bounds_.size() + 1;
  table.one_device_.assign(table.models_ * cpu_buckets * table.left_buckets_, 0);
  table.many_devices_.assign(table.models_ * cpu_buckets * kWholeCounts, 0);
  for (const Target& t : table.targets_) {
    const std::size_t from_cpu = table.CpuBucket(t.cpu_milli);
    const std::size_t from_left = table.left_bucket_[static_cast<std::size_t>(t.gpu_milli)];
    for (std::size_t model = 0; model < table.models_; ++model) {
      const bool later = model + 1 == table.models_;
      if (later ? t.models != kAnyModel : ((t.models >> model) & 1) == 0) continue;
      for (std::size_t cpu = from_cpu; cpu < cpu_buckets; ++cpu) {
        const std::size_t row = model * cpu_buckets + cpu;
        if (t.gpu_count == 1) {
          for (std::size_t left = from_left; left < table.left_buckets_; ++left) {
            table.one_device_[row * table.left_buckets_ + left] += t.weight;
          }
        } else {
          for (auto n = static_cast<std::size_t>(t.gpu_count); n < kWholeCounts; ++n) {
            table.many_devices_[row * kWholeCounts + n] += t.weight;
          }
        }
      }
    }
  }
  return table;
}

std::size_t FragmentTable::CpuBucket(std::int64_t cpu_free) const {
  return static_cast<std::size_t>(
      std::upper_bound(cpu_bounds_.begin(), cpu_bounds_.end(), cpu_free) - cpu_bounds_.begin());
}

template <class LeftOf>
std::int64_t FragmentTable::UsableWith(const NodeView& node, std::int64_t cpu_free,
                                       LeftOf left_of) const {
  if (targets_.empty() || node.devices().empty()) return 0;
  if (!std::has_single_bit(node.models())) return UsableMixed(node, cpu_free, left_of);
  const auto devices = node.devices();
  const std::size_t model = std::min<std::size_t>(devices[0].model, models_ - 1);
  const std::size_t row = model * (cpu_bounds_.size() + 1) + CpuBucket(cpu_free);
  const std::int64_t* one = one_device_.data() + row * left_buckets_;
  std::int64_t usable = 0;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::int64_t left = left_of(i);
    usable += left * one[left_bucket_[static_cast<std::size_t>(left)]];
    whole += left == kMilli ? 1U : 0U;
  }
  return usable +
         kMilli * static_cast<std::int64_t>(whole) * many_devices_[row * kWholeCounts + whole];
}

// A node with devices of several models: by the definition, target by target.
template <class LeftOf>
std::int64_t FragmentTable::UsableMixed(const NodeView& node, std::int64_t cpu_free,
                                        LeftOf left_of) const {
  const auto devices = node.devices();
  std::int64_t usable = 0;
  for (const Target& t : targets_) {
    if (t.cpu_milli > cpu_free) continue;
    std::int64_t room = 0;
    std::int32_t fitting = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::int64_t left = left_of(i);
      if (left < t.gpu_milli || ((t.models >> devices[i].model) & 1) == 0) continue;
      room += left;
      ++fitting;
    }
    if (fitting >= t.gpu_count) usable += t.weight * room;
  }
  return usable;
}

std::int64_t FragmentTable::Usable(const NodeView& node) const {
  return UsableWith(node, node.cpu_free(),
                    [&](std::size_t i) { return std::int64_t{node.devices()[i].gpu_milli}; });
}

std::int64_t FragmentTable::UsableAfter(const NodeView& node, const Shape& shape,
                                        DeviceMask devices) const {
  return UsableWith(node, node.cpu_free() - ScoredCpu(shape), [&](std::size_t i) {
    const std::int64_t left = node.devices()[i].gpu_milli;
    return devices.contains(static_cast<int>(i)) ? left - shape.gpu_milli : left;
  });
}

}  // namespace gpusched
