#include "gpusched/policy/score/fragmentation.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/policy/score/norms.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

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
                                  .gpu_mem_mib = wanted.gpu_mem_mib,
                                  .models = wanted.models,
                                  .mig_profile = wanted.mig_profile,
                                  .sharing = {}});
    if (!id.ok()) return id.status();
    const Shape& shape = state.shapes()[*id];
    if (!shape.asks_gpu()) continue;  // to a task without GPU, every idle GPU is a fragment
    Target entry{.shape = shape, .weight = wanted.count};
    entry.shape.cpu_milli = ScoredCpu(shape);
    table.targets_.push_back(entry);
    table.plain_ = table.plain_ && shape.plain() && shape.gpu_mem_mib == 0;
    table.cpu_bounds_.push_back(ScoredCpu(shape));
    if (shape.gpu_count == 1) left_bounds.push_back(shape.gpu_milli);
  }
  SortUnique(table.cpu_bounds_);
  table.SetCpuBuckets();
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
    const std::size_t from_cpu = table.CpuBucket(t.shape.cpu_milli);
    const std::size_t from_left = table.left_bucket_[static_cast<std::size_t>(t.shape.gpu_milli)];
    for (std::size_t model = 0; model < table.models_; ++model) {
      const bool later = model + 1 == table.models_;
      if (later ? t.shape.models != kAnyModel : ((t.shape.models >> model) & 1) == 0) continue;
      for (std::size_t cpu = from_cpu; cpu < cpu_buckets; ++cpu) {
        const std::size_t row = model * cpu_buckets + cpu;
        if (t.shape.gpu_count == 1) {
          for (std::size_t left = from_left; left < table.left_buckets_; ++left) {
            table.one_device_[row * table.left_buckets_ + left] += t.weight;
          }
        } else {
          for (auto n = static_cast<std::size_t>(t.shape.gpu_count); n < kWholeCounts; ++n) {
            table.many_devices_[row * kWholeCounts + n] += t.weight;
          }
        }
      }
    }
  }
  return table;
}

std::size_t FragmentTable::SearchCpuBucket(std::int64_t cpu_free) const {
  return static_cast<std::size_t>(
      std::upper_bound(cpu_bounds_.begin(), cpu_bounds_.end(), cpu_free) - cpu_bounds_.begin());
}

void FragmentTable::SetCpuBuckets() {
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t quantum = 0;
  for (const std::int64_t bound : cpu_bounds_) quantum = std::gcd(quantum, bound);
  cpu_bucket_ = {0};
  if (quantum == 0) return;
  cpu_quantum_ = quantum;
  const std::int64_t quanta = cpu_bounds_.back() / quantum;
  cpu_bucket_.clear();
  if (quanta >= kMost) return;
  for (std::int64_t i = 0; i <= quanta; ++i) {
    cpu_bucket_.push_back(static_cast<std::uint16_t>(SearchCpuBucket(i * quantum)));
  }
}

template <class LeftOf>
std::int64_t FragmentTable::UsableWith(const NodeView& node, std::int64_t cpu_free,
                                       LeftOf left_of) const {
  const auto devices = node.devices();
  const Row row = RowAt(RowNumber(devices[0].model, cpu_free));
  std::int64_t usable = 0;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::int64_t left = left_of(i);
    usable += row.Part(left);
    whole += left == kMilli ? 1U : 0U;
  }
  return usable + row.Whole(whole);
}

template <class FreeOf>
std::vector<std::int64_t> FragmentTable::UsableByDefinition(const NodeView& node,
                                                            std::int64_t cpu_free,
                                                            FreeOf free_of) const {
  const std::size_t devices = node.devices().size();
  std::vector<DeviceFree> free;
  free.reserve(devices);
  for (std::size_t i = 0; i < devices; ++i) free.push_back(free_of(i));
  std::vector<std::int64_t> usable(devices, 0);
  std::vector<std::size_t> fitting;
  for (const Target& t : targets_) {
    if (t.shape.cpu_milli > cpu_free) continue;
    const OfferMask wants = t.shape.wants();
    fitting.clear();
    std::int32_t parts = 0;
    for (std::size_t i = 0; i < devices; ++i) {
      std::int32_t here = DeviceFits(free[i], t.shape, wants) ? 1 : 0;
      if (here == 0 && (wants & kOfferMig) != 0) here = InstancesOn(node, i, free[i], t.shape);
      if (here == 0) continue;
      parts += here;
      fitting.push_back(i);
    }
    if (parts < t.shape.gpu_count) continue;
    for (const std::size_t i : fitting) usable[i] += t.weight * free[i].gpu_milli;
  }
  return usable;
}

namespace {

std::int64_t Sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

std::vector<std::int64_t> FragmentTable::UsableByDevice(const NodeView& node) const {
  return UsableByDefinition(node, node.cpu_free(),
                            [&](std::size_t i) { return node.devices()[i]; });
}

std::int64_t FragmentTable::Usable(const NodeView& node) const {
  if (!ByAmounts(node)) return Sum(UsableByDevice(node));
  return UsableWith(node, node.cpu_free(),
                    [&](std::size_t i) { return std::int64_t{node.devices()[i].gpu_milli}; });
}

std::int64_t FragmentTable::UsableChange(const NodeView& node, const Shape& shape,
                                         const DeviceChoice& choice) const {
  if (!ByAmounts(node) || !shape.plain()) {
    return UsableAfter(node, shape, choice) - Usable(node);
  }
  const auto devices = node.devices();
  const auto left = [&](std::size_t i) { return std::int64_t{devices[i].gpu_milli}; };
  return UsableWith(node, node.cpu_free() - ScoredCpu(shape),
                    [&](std::size_t i) {
                      const bool taken = choice.devices.contains(static_cast<int>(i));
                      return taken ? left(i) - shape.gpu_milli : left(i);
                    }) -
         UsableWith(node, node.cpu_free(), left);
}

std::int64_t FragmentTable::UsableAfter(const NodeView& node, const Shape& shape,
                                        const DeviceChoice& choice) const {
  const std::int64_t cpu_free = node.cpu_free() - ScoredCpu(shape);
  if (!ByAmounts(node) || !shape.plain()) {
    return Sum(UsableByDefinition(node, cpu_free, [&](std::size_t i) {
      return choice.devices.contains(static_cast<int>(i)) ? FreeAfter(node, i, shape, choice)
                                                          : node.devices()[i];
    }));
  }
  return UsableWith(node, cpu_free, [&](std::size_t i) {
    const std::int64_t left = node.devices()[i].gpu_milli;
    return choice.devices.contains(static_cast<int>(i)) ? left - shape.gpu_milli : left;
  });
}

}  // namespace gpusched
