#include "gpusched/index/lane_filter.h"

#include <algorithm>
#include <numeric>

#include "gpusched/state/fit.h"

namespace gpusched {

void LaneFilter::Bounds::Build(const std::vector<std::int64_t>& requests) {
  bounds = requests;
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  masks.assign(bounds.size() + 1, {});
  quantum = 0;
  for (const std::int64_t bound : bounds) quantum = std::gcd(quantum, bound);
  quantum = std::max<std::int64_t>(quantum, 1);
  entry.clear();
  constexpr std::int64_t kMost = 1 << 14;
  if (!bounds.empty() && bounds.back() / quantum < kMost) {
    std::size_t covered = 0;
    for (std::int64_t quanta = 0; quanta <= bounds.back() / quantum; ++quanta) {
      while (covered < bounds.size() && bounds[covered] <= quanta * quantum) ++covered;
      entry.push_back(static_cast<std::uint16_t>(covered));
    }
  }
  for (std::size_t lane = 0; lane < requests.size(); ++lane) {
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (requests[lane] <= bounds[i]) masks[i + 1].Insert(lane);
    }
  }
}

const LaneMask& LaneFilter::Bounds::UpTo(std::int64_t amount) const {
  if (!entry.empty()) {
    const auto quanta = static_cast<std::size_t>(amount / quantum);
    return masks[entry[std::min(quanta, entry.size() - 1)]];
  }
  // A binary search without branches: which way it goes can't be foreseen.
  const std::int64_t* at = bounds.data();
  for (std::size_t length = bounds.size(); length > 0;) {
    const std::size_t half = (length + 1) / 2;
    at += static_cast<std::size_t>(at[half - 1] <= amount) * half;
    length -= half;
  }
  return masks[static_cast<std::size_t>(at - bounds.data())];
}

void LaneFilter::SetLane(std::size_t lane, const Shape& shape) {
  // Lanes that stand for nothing yet ask what no node has.
  constexpr std::int64_t kImpossible = kMaxQuantity + 1;
  if (lane >= shapes_.size()) shapes_.resize(lane + 1, Shape{.cpu_milli = kImpossible});
  shapes_[lane] = shape;
  Build();
}

void LaneFilter::Build() {
  std::vector<std::int64_t> cpu, mem, parts;
  no_gpu_ = checked_ = {};
  whole_.fill({});
  models_.fill({});
  for (std::size_t lane = 0; lane < shapes_.size(); ++lane) {
    const Shape& shape = shapes_[lane];
    cpu.push_back(shape.cpu_milli);
    mem.push_back(shape.mem_mib);
    if (!shape.asks_gpu()) {
      no_gpu_.Insert(lane);
      continue;
    }
    for (std::size_t model = 0; model < models_.size(); ++model) {
      if (((shape.models >> model) & 1) != 0) models_[model].Insert(lane);
    }
    if (shape.plain() && shape.gpu_mem_mib == 0 && shape.shares()) {
      parts.push_back(shape.gpu_milli);
    } else if (shape.plain() && shape.gpu_mem_mib == 0 && shape.gpu_milli == kMilli) {
      for (auto n = static_cast<std::size_t>(shape.gpu_count); n < whole_.size(); ++n) {
        whole_[n].Insert(lane);
      }
    } else {
      checked_.Insert(lane);
    }
  }
  cpu_.Build(cpu);
  mem_.Build(mem);
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  part_masks_.assign(parts.size() + 1, {});
  for (std::size_t lane = 0; lane < shapes_.size(); ++lane) {
    const Shape& shape = shapes_[lane];
    if (no_gpu_.contains(lane) || checked_.contains(lane) || !shape.shares()) continue;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (shape.gpu_milli <= parts[i]) part_masks_[i + 1].Insert(lane);
    }
  }
  for (std::size_t left = 0; left < part_step_.size(); ++left) {
    part_step_[left] = static_cast<std::uint16_t>(
        std::upper_bound(parts.begin(), parts.end(), static_cast<std::int64_t>(left)) -
        parts.begin());
  }
}

LaneMask LaneFilter::Fit(const NodeView& node) const {
  if (node.cordoned() || shapes_.empty()) return {};
  LaneMask fitting = cpu_.UpTo(node.cpu_free()) & mem_.UpTo(node.mem_free());
  if (fitting.empty()) return fitting;
  const auto devices = node.devices();
  LaneMask in_doubt;
  if (devices.empty()) {
    fitting = fitting & no_gpu_;
  } else if (node.plain() && node.one_model()) {
    std::int32_t most = 0;
    std::size_t whole = 0;
    for (const DeviceFree& device : devices) {
      most = std::max(most, device.gpu_milli);
      whole += device.gpu_milli == kMilli ? 1U : 0U;
    }
    const LaneMask& parts = part_masks_[part_step_[static_cast<std::size_t>(most)]];
    fitting =
        fitting & (no_gpu_ | (models_[devices[0].model] & (parts | whole_[whole] | checked_)));
    in_doubt = fitting & checked_;
  } else {
    in_doubt = fitting - no_gpu_;
  }
  in_doubt.ForEach([&](std::size_t lane) {
    if (!Fits(node, shapes_[lane])) fitting.Remove(lane);
  });
  return fitting;
}

}  // namespace gpusched
