#include "policy/score/fgd_rows.h"

#include <algorithm>
#include <limits>

#include "gpusched/policy/score/norms.h"

namespace gpusched {

void FgdRows::SetLane(std::size_t lane, const Shape& shape) {
  if (lane >= lanes_.size()) lanes_.resize(lane + 1);
  // Those of shapes that have left their lanes.
  if (classes_.size() > 2 * kMaxLanes) {
    classes_.clear();
    for (std::size_t other = 0; other < lanes_.size(); ++other) {
      if (other != lane) SetLane(other, Shape(lanes_[other].shape));
    }
  }
  const std::int64_t cpu = ScoredCpu(shape);
  const auto known = std::find_if(classes_.begin(), classes_.end(),
                                  [&](const CpuClass& c) { return c.cpu_milli == cpu; });
  lanes_[lane] = {.shape = shape,
                  .cpu_class = static_cast<std::uint32_t>(known - classes_.begin()),
                  .taken = shape.gpu_milli_total() * score_.table().total_weight()};
  if (known == classes_.end()) classes_.push_back({.cpu_milli = cpu});
}

void FgdRows::Begin(const NodeView& node) {
  ++epoch_;
  const auto devices = node.devices();
  model_ = devices[0].model;
  cpu_free_ = node.cpu_free();
  part_count_ = 0;
  whole_ = 0;
  for (const DeviceFree& device : devices) {
    if (device.gpu_milli == kMilli) {
      ++whole_;
    } else if (device.gpu_milli > 0) {
      std::size_t i = 0;
      while (i < part_count_ && parts_[i].left != device.gpu_milli) ++i;
      if (i == part_count_) parts_[part_count_++] = {.left = device.gpu_milli, .count = 0};
      ++parts_[i].count;
    }
  }
  const FragmentTable& table = score_.table();
  const std::size_t row = table.RowOf(model_, cpu_free_);
  before_ = table.Whole(row, whole_) +
            static_cast<std::int64_t>(whole_) * table.Part(row, kMilli);
  for (std::size_t i = 0; i < part_count_; ++i) {
    before_ += parts_[i].count * table.Part(row, parts_[i].left);
  }
}

const FgdRows::CpuClass& FgdRows::At(std::uint32_t cpu_class) {
  CpuClass& c = classes_[cpu_class];
  if (c.epoch == epoch_) return c;
  const FragmentTable& table = score_.table();
  c.epoch = epoch_;
  c.row = table.RowOf(model_, cpu_free_ - c.cpu_milli);
  c.parts = 0;
  for (std::size_t i = 0; i < part_count_; ++i) {
    c.parts += parts_[i].count * table.Part(c.row, parts_[i].left);
  }
  return c;
}

std::int64_t FgdRows::ChangeOnPart(const CpuClass& after, std::int64_t left,
                                   const Lane& lane) const {
  const FragmentTable& table = score_.table();
  const std::size_t whole = whole_ - (left == kMilli ? 1U : 0U);
  const std::int64_t others = left == kMilli ? after.parts
                                             : after.parts - table.Part(after.row, left);
  return others + table.Part(after.row, left - lane.shape.gpu_milli) +
         static_cast<std::int64_t>(whole) * table.Part(after.row, kMilli) +
         table.Whole(after.row, whole) - before_;
}

std::int64_t FgdRows::Change(const CpuClass& after, const Lane& lane) const {
  const FragmentTable& table = score_.table();
  if (lane.shape.shares()) {
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < part_count_; ++i) {
      if (parts_[i].left < lane.shape.gpu_milli) continue;
      best = std::max(best, ChangeOnPart(after, parts_[i].left, lane));
    }
    return whole_ == 0 ? best : std::max(best, ChangeOnPart(after, kMilli, lane));
  }
  const std::size_t whole = whole_ - static_cast<std::size_t>(lane.shape.gpu_count);
  return after.parts + static_cast<std::int64_t>(whole) * table.Part(after.row, kMilli) +
         table.Whole(after.row, whole) - before_;
}

void FgdRows::ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) {
  const bool by_amounts = score_.table().ByAmounts(node);
  if (by_amounts) Begin(node);
  asked.ForEach([&](std::size_t i) {
    const Lane& lane = lanes_[i];
    if (by_amounts && lane.shape.plain() && lane.shape.gpu_mem_mib == 0) {
      out[i] = score_.Rank(lane.taken + Change(At(lane.cpu_class), lane));
    } else {
      out[i] = BestOnNode(node, lane.shape, score_, Fgd::kDeviceOrder, lane.shape.shares()).score;
    }
  });
}

NodeChoice FgdRows::Best(const NodeView& node, std::size_t i, DeviceOrder order) {
  const Lane& lane = lanes_[i];
  if (!score_.table().ByAmounts(node) || !lane.shape.plain() || lane.shape.gpu_mem_mib != 0) {
    return BestOnNode(node, lane.shape, score_, order, lane.shape.shares());
  }
  Begin(node);
  const CpuClass& after = At(lane.cpu_class);
  NodeChoice best;
  if (!lane.shape.shares()) {
    best.choice = ChooseDevices(node, lane.shape, order);
    best.score = score_.Rank(lane.taken + Change(after, lane));
    return best;
  }
  const auto devices = node.devices();
  std::int32_t best_left = 0;
  std::int32_t last_left = -1;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::int32_t left = devices[d].gpu_milli;
    if (left < lane.shape.gpu_milli || left == last_left) continue;
    last_left = left;
    const Score score = score_.Rank(lane.taken + ChangeOnPart(after, left, lane));
    const bool first = best.choice.devices.empty();
    if (!first && score < best.score) continue;
    if (!first && score == best.score &&
        !(order == DeviceOrder::kFullestFirst && left < best_left)) {
      continue;
    }
    best = {.choice = DeviceMask::Of(static_cast<int>(d)), .score = score};
    best_left = left;
  }
  return best;
}

}  // namespace gpusched
