#include "policy/score/fgd_rows.h"

#include <algorithm>
#include <numeric>

#include "gpusched/policy/score/norms.h"

namespace gpusched {
namespace {

constexpr std::size_t kWholeCounts = static_cast<std::size_t>(kMaxDevicesPerNode) + 1;
// Less than any usable GPU, and far from overflow.
constexpr std::int64_t kNone = -(std::int64_t{1} << 60);

}  // namespace

FgdRows::FgdRows(Fgd score) : score_(std::move(score)) { SetStep(static_cast<int>(kMilli)); }

void FgdRows::SetStep(std::int32_t milli) {
  step_ = milli;
  const FragmentTable& table = score_.table();
  for (std::size_t left = 0; left < steps_of_.size(); ++left) {
    steps_of_[left] = static_cast<std::uint16_t>(static_cast<std::int32_t>(left) / milli);
  }
  part_.clear();
  whole_.clear();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const FragmentTable::Row terms = table.RowAt(row);
    part_.insert(part_.end(), steps(), kNone);
    for (std::size_t i = 0; i <= steps(); ++i) {
      part_.push_back(terms.Part(static_cast<std::int64_t>(i) * milli));
    }
    for (std::size_t count = 0; count < kWholeCounts; ++count) {
      whole_.push_back(static_cast<std::int64_t>(count) * terms.Part(kMilli) + terms.Whole(count));
    }
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (shares_.contains(lane)) lanes_[lane].amount = shapes_[lane].gpu_milli / milli;
  }
}

void FgdRows::SetLane(std::size_t lane, const Shape& shape) {
  if (lane >= lanes_.size()) {
    lanes_.resize(lane + 1);
    shapes_.resize(lane + 1);
  }
  shares_.Remove(lane);
  wholes_.Remove(lane);
  shapes_[lane] = shape;
  if (!shape.plain() || shape.gpu_mem_mib != 0) return;
  if (shape.shares()) {
    const std::int32_t step = std::gcd(step_, shape.gpu_milli);
    if (step != step_) SetStep(step);
  }
  (shape.shares() ? shares_ : wholes_).Insert(lane);
  lanes_[lane] = {.taken = shape.gpu_milli_total() * score_.table().total_weight(),
                  .amount = shape.shares() ? shape.gpu_milli / step_ : shape.gpu_count};
  // Classes anew: those of shapes that have left their lanes go.
  classes_.clear();
  (shares_ | wholes_).ForEach([&](std::size_t i) {
    const std::int64_t cpu = ScoredCpu(shapes_[i]);
    const auto known = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const CpuClass& c) { return c.cpu_milli == cpu; });
    const auto at = static_cast<std::size_t>(known - classes_.begin());
    lanes_[i].cpu_class = static_cast<std::uint32_t>(at);
    if (known == classes_.end()) classes_.push_back(ClassOf(cpu));
    classes_[at].shared = classes_[at].shared || shares_.contains(i);
  });
  without_.assign(classes_.size() * lefts_.size(), 0);
}

FgdRows::CpuClass FgdRows::ClassOf(std::int64_t cpu_milli) const {
  const std::int64_t quantum = score_.table().cpu_quantum();
  CpuClass c;
  c.cpu_milli = cpu_milli;
  c.quanta = cpu_milli / quantum;
  c.rest = cpu_milli % quantum;
  return c;
}

bool FgdRows::Begin(const NodeView& node) {
  if (!score_.table().ByAmounts(node)) return false;
  const auto devices = node.devices();
  const FragmentTable& table = score_.table();
  first_row_ = table.FirstRow(devices[0].model);
  cpu_quanta_ = node.cpu_free() / table.cpu_quantum();
  cpu_rest_ = node.cpu_free() - cpu_quanta_ * table.cpu_quantum();
  std::size_t parts = 0;
  std::uint32_t whole = 0;
  std::int32_t odd = 0;
  for (const DeviceFree& device : devices) {
    const std::int32_t left = device.gpu_milli;
    const std::int32_t steps = steps_of_[static_cast<std::size_t>(left)];
    odd |= left - steps * step_;
    lefts_[parts].steps = lefts_[parts].counted = steps;
    parts += static_cast<std::size_t>(left > 0) & static_cast<std::size_t>(left < kMilli);
    whole += static_cast<std::uint32_t>(left == kMilli);
  }
  if (odd != 0) {
    // Somebody takes amounts that no lane asks.
    std::int32_t step = step_;
    for (const DeviceFree& device : devices) step = std::gcd(step, device.gpu_milli);
    SetStep(step);
    return Begin(node);
  }
  for (std::size_t i = 0; i < parts; ++i) lefts_[i].whole = whole;
  if (whole > 0) {
    lefts_[parts] = {
        .steps = static_cast<std::int32_t>(kMilli) / step_, .counted = 0, .whole = whole - 1};
  }
  parts_ = parts;
  choices_ = parts + (whole > 0 ? 1U : 0U);
  whole_free_ = whole;
  return true;
}

inline void FgdRows::With(CpuClass& c) const {
  const std::size_t row =
      first_row_ +
      score_.table().BucketOf(cpu_quanta_ - c.quanta - static_cast<int>(cpu_rest_ < c.rest));
  c.part = part_.data() + row * (2 * steps() + 1) + steps();
  c.whole = whole_.data() + row * kWholeCounts;
  std::int64_t parts = 0;
  for (std::size_t i = 0; i < parts_; ++i) parts += c.part[lefts_[i].steps];
  c.parts = parts;
}

void FgdRows::ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) {
  const LaneMask told = Begin(node) ? asked & (shares_ | wholes_) : LaneMask();
  (asked - told).ForEach([&](std::size_t i) {
    const Shape& shape = shapes_[i];
    out[i] = BestOnNode(node, shape, score_, Fgd::kDeviceOrder, shape.shares()).score;
  });
  if (told.empty()) return;
  CpuClass now;
  With(now);
  const std::int64_t before = now.parts + now.whole[whole_free_];
  // All of them: to find out which are asked about costs as much.
  const std::size_t choices = choices_;
  std::int64_t* next = without_.data();
  for (CpuClass& c : classes_) {
    With(c);
    if (c.shared) {
      for (std::size_t choice = 0; choice < choices; ++choice) {
        next[choice] = Without(c, lefts_[choice]) - before;
      }
    }
    next += choices;
    c.parts -= before;
  }
  const Lane* const lanes = lanes_.data();
  const CpuClass* const classes = classes_.data();
  (told & wholes_).ForEach([&](std::size_t i) {
    const Lane& lane = lanes[i];
    const CpuClass& after = classes[lane.cpu_class];
    out[i] = score_.Rank(lane.taken + after.parts +
                         after.whole[whole_free_ - static_cast<std::uint32_t>(lane.amount)]);
  });
  (told & shares_).ForEach([&](std::size_t i) {
    const Lane& lane = lanes[i];
    const std::int64_t* const part = classes[lane.cpu_class].part - lane.amount;
    const std::int64_t* const without = without_.data() + lane.cpu_class * choices;
    std::int64_t change = without[0] + part[lefts_[0].steps];
    for (std::size_t choice = 1; choice < choices; ++choice) {
      change = std::max(change, without[choice] + part[lefts_[choice].steps]);
    }
    out[i] = score_.Rank(lane.taken + change);
  });
}

NodeChoice FgdRows::Best(const NodeView& node, std::size_t at, DeviceOrder order) {
  const bool shares = shares_.contains(at);
  if (!(shares || wholes_.contains(at)) || !Begin(node)) {
    return BestOnNode(node, shapes_[at], score_, order, shapes_[at].shares());
  }
  const Lane& lane = lanes_[at];
  CpuClass after;
  With(after);
  const std::int64_t before = after.parts + after.whole[whole_free_];
  after = classes_[lane.cpu_class];
  With(after);
  NodeChoice best;
  if (!shares) {
    best.choice = ChooseDevices(node, shapes_[at], order);
    best.score = score_.Rank(lane.taken + after.parts - before +
                             after.whole[whole_free_ - static_cast<std::uint32_t>(lane.amount)]);
    return best;
  }
  // The best of the choices, and how much is left on it; a later one wins ties if it comes first.
  const auto devices = node.devices();
  const auto first_with = [&](std::int32_t steps) {
    std::size_t d = 0;
    while (devices[d].gpu_milli != steps * step_) ++d;
    return d;
  };
  std::size_t best_device = 0;
  std::int32_t best_left = 0;
  for (std::size_t choice = 0; choice < choices_; ++choice) {
    const Left& left = lefts_[choice];
    if (left.steps < lane.amount || left.steps == best_left) continue;
    const Score score = score_.Rank(lane.taken + Without(after, left) - before +
                                    after.part[left.steps - lane.amount]);
    if (best_left != 0 && score < best.score) continue;
    const std::size_t device = first_with(left.steps);
    if (best_left != 0 && score == best.score &&
        !(order == DeviceOrder::kFullestFirst ? left.steps < best_left : device < best_device)) {
      continue;
    }
    best.score = score;
    best_device = device;
    best_left = left.steps;
  }
  best.choice = DeviceMask::Of(static_cast<int>(best_device));
  return best;
}

}  // namespace gpusched
