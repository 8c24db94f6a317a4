#include "gpusched/index/node_index.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "gpusched/index/lane_filter.h"
#include "gpusched/index/score_tree.h"
#include "gpusched/state/fit.h"

namespace gpusched {
namespace {

template <class T>
class TreeIndex final : public NodeIndex {
 public:
  TreeIndex(std::unique_ptr<RowScorer> rows, ScoreRange range, DeviceOrder order,
            const NodeIndexOptions& options)
      : rows_(std::move(rows)),
        range_(range),
        order_(order),
        max_lanes_(std::min(options.max_lanes, kMaxLanes)),
        scores_(kMaxLanes, 0),
        row_(kMaxLanes, 0) {}

  Answer Find(const ClusterState& state, const Shape& shape) override {
    const std::size_t lane = Ready(state, shape);
    if (lane == kNoLane || broken_) return {};
    const std::size_t leaf = tree_.Best(lane);
    if (leaf == Tree::kNone) return {.outcome = Outcome::kNone};
    return AnswerFor(state, lane, leaf);
  }

  Answer FindWhere(const ClusterState& state, const Shape& shape, Passes passes) override {
    const std::size_t lane = Ready(state, shape);
    if (lane == kNoLane || broken_) return {};
    cursor_.Begin(tree_, lane);
    std::size_t refused = 0;
    while (true) {
      const std::size_t leaf = cursor_.Next();
      if (leaf == Tree::kNone) return {.outcome = Outcome::kNone};
      if (passes(state.node(slot_of_leaf_[leaf]))) return AnswerFor(state, lane, leaf);
      if (++refused > MostRefused(state.node_count())) return {};
    }
  }

  void Prepare(const ClusterState& state, std::span<const ShapeId> shapes) override {
    Synchronise(state);
    bool added = false;
    for (const ShapeId id : shapes) {
      if (!state.shapes().Has(id) || LaneOf(id) != kNoLane || lanes_.size() >= max_lanes_) continue;
      lanes_.push_back({.shape = id, .hits = 0});
      Stand(lanes_.size() - 1, state.shapes()[id]);
      added = true;
    }
    if (added) Rebuild(state);
  }

  std::size_t lanes() const override { return lanes_.size(); }
  bool shares_work() const override { return rows_->shares_work(); }
  std::size_t bytes() const override {
    return tree_.bytes() + leaf_of_slot_.capacity() * sizeof(leaf_of_slot_[0]) +
           slot_of_leaf_.capacity() * sizeof(slot_of_leaf_[0]) +
           rank_of_slot_.capacity() * sizeof(rank_of_slot_[0]);
  }

 private:
  using Tree = ScoreTree<T>;
  static constexpr std::size_t kNoLane = kMaxLanes;
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

  struct Lane {
    ShapeId shape;  // without slot: one that is not the state's own
    std::uint32_t hits = 0;
  };

  // Brings everything that the shape needs up to date; its lane, or kNoLane.
  std::size_t Ready(const ClusterState& state, const Shape& shape) {
    const ShapeId id = state.shapes().IdOf(shape);
    const bool known = state.nodes().changes().Is(identity_);
    std::size_t lane = known ? Find(shape, id) : kNoLane;
    run_ = lane != kNoLane && lane == run_lane_ ? run_ + 1 : 0;
    run_lane_ = lane;
    // A gang of equal tasks asks for one lane again and again; the others can wait.
    constexpr std::size_t kRun = 4;
    if (run_ < kRun || !SynchroniseLane(state, lane)) Synchronise(state);
    Age();
    if (lane == kNoLane) lane = GiveLane(state, shape, id);
    if (lane != kNoLane) ++lanes_[lane].hits;
    return lane;
  }

  std::size_t Find(const Shape& shape, ShapeId id) const {
    if (id.has_value()) return LaneOf(id);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (filter_.shape(i) == shape) return i;
    }
    return kNoLane;
  }

  std::size_t LaneOf(ShapeId id) const {
    return id.slot < lane_of_shape_.size() ? lane_of_shape_[id.slot] : kNoLane;
  }

  // What was asked about long ago counts less.
  void Age() {
    constexpr std::uint32_t kHalfLife = 8192;
    if (++asked_ % kHalfLife != 0) return;
    for (Lane& lane : lanes_) lane.hits /= 2;
    for (std::uint32_t& misses : misses_) misses /= 2;
  }

  std::size_t GiveLane(const ClusterState& state, const Shape& shape, ShapeId id) {
    if (lanes_.size() < max_lanes_) {
      lanes_.push_back({.shape = id, .hits = 0});
      const std::size_t lane = lanes_.size() - 1;
      Stand(lane, shape);
      if (lane < tree_.width()) {
        FillLane(state, lane);
      } else {
        Rebuild(state);
      }
      return lane;
    }
    if (!id.has_value()) return kNoLane;
    if (id.slot >= misses_.size()) misses_.resize(id.slot + std::size_t{1}, 0);
    const auto least = std::min_element(
        lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) { return a.hits < b.hits; });
    // Filling a lane costs about as much as a scan, so one that is asked about as often may stay.
    if (least == lanes_.end() || ++misses_[id.slot] <= least->hits) return kNoLane;
    if (least->shape.has_value()) lane_of_shape_[least->shape.slot] = kNoLane;
    *least = {.shape = id, .hits = misses_[id.slot]};
    misses_[id.slot] = 0;
    const auto lane = static_cast<std::size_t>(least - lanes_.begin());
    Stand(lane, shape);
    FillLane(state, lane);
    return lane;
  }

  void Stand(std::size_t lane, const Shape& shape) {
    filter_.SetLane(lane, shape);
    rows_->SetLane(lane, shape);
    const ShapeId id = lanes_[lane].shape;
    if (!id.has_value()) return;
    if (id.slot >= lane_of_shape_.size()) {
      lane_of_shape_.resize(id.slot + std::size_t{1}, static_cast<std::uint16_t>(kNoLane));
    }
    lane_of_shape_[id.slot] = static_cast<std::uint16_t>(lane);
  }

  void FillLane(const ClusterState& state, std::size_t lane) {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
      const std::uint32_t slot = slot_of_leaf_[leaf];
      const bool there = state.nodes().live(slot) && leaf_of_slot_[slot] == leaf;
      tree_.FillLane(leaf, lane, there ? ScoreOf(state.node(slot), lane) : T{0});
    }
    tree_.RebuildAbove(lane);
  }

  T ScoreOf(const NodeView& node, std::size_t lane) {
    if (!Fits(node, filter_.shape(lane))) return 0;
    return Stored(rows_->Best(node, lane, order_).score);
  }

  T Stored(Score score) {
    if (score < range_.lo || score > range_.hi) {
      broken_ = true;
      return 0;
    }
    return static_cast<T>(score - range_.lo + 1);
  }

  void ComputeRow(const NodeView& node) {
    const std::size_t width = tree_.width();
    const LaneMask fitting = filter_.Fit(node);
    if (fitting.empty()) {
      std::fill(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(width), T{0});
      return;
    }
    const Score below = range_.lo - 1;  // what does not fit
    std::fill(scores_.begin(), scores_.begin() + static_cast<std::ptrdiff_t>(width), below);
    rows_->ScoreRow(node, fitting, scores_.data());
    broken_ =
        !kernels_.narrow(scores_.data(), width, below, range_.hi - below, row_.data()) || broken_;
  }

  void Synchronise(const ClusterState& state) {
    const ChangeLog& log = state.nodes().changes();
    if (!log.Is(identity_)) {
      // Shapes are those of another state.
      identity_ = log.identity();
      lanes_.clear();
      lane_of_shape_.clear();
      misses_.clear();
      filter_ = {};
      Rebuild(state);
    } else if (!log.Reaches(seen_)) {
      Rebuild(state);
    }
    const ChangeLog::Position end = log.end();
    constexpr ChangeLog::Position kFew = 8;
    if (end - seen_ > kFew) {
      // After a gang many changes are of one node; it is looked at once.
      last_change_.resize(state.nodes().slots(), 0);
      for (ChangeLog::Position at = seen_; at < end; ++at) last_change_[log[at]] = at;
      for (ChangeLog::Position at = seen_; at < end; ++at) {
        if (last_change_[log[at]] == at) Refresh(state, log[at]);
      }
      seen_ = end;
    }
    while (seen_ < end) {
      const std::uint32_t slot = log[seen_++];
      if (seen_ < end && log[seen_] == slot) continue;
      Refresh(state, slot);
    }
    lane_seen_ = end;
  }

  // Brings one lane up to date, all of which were up to date at lane_seen_ or before. False: there
  // is more to do.
  bool SynchroniseLane(const ClusterState& state, std::size_t lane) {
    const NodeTable& nodes = state.nodes();
    const ChangeLog& log = nodes.changes();
    if (!log.Reaches(seen_)) return false;
    for (; lane_seen_ < log.end(); ++lane_seen_) {
      const std::uint32_t slot = log[lane_seen_];
      if (!nodes.live(slot) || slot >= leaf_of_slot_.size() || leaf_of_slot_[slot] == kNowhere ||
          rank_of_slot_[slot] != nodes.rank(slot)) {
        return false;
      }
      tree_.UpdateLane(leaf_of_slot_[slot], lane, ScoreOf(state.node(slot), lane));
    }
    return true;
  }

  void Refresh(const ClusterState& state, std::uint32_t slot) {
    const NodeTable& nodes = state.nodes();
    if (slot >= leaf_of_slot_.size()) {
      leaf_of_slot_.resize(slot + std::size_t{1}, kNowhere);
      rank_of_slot_.resize(slot + std::size_t{1}, 0);
    }
    std::uint32_t& leaf = leaf_of_slot_[slot];
    const bool live = nodes.live(slot);
    if (leaf != kNowhere && (!live || rank_of_slot_[slot] != nodes.rank(slot))) {
      // It has gone, and may come back in its place if that is taken back.
      std::fill(row_.begin(), row_.end(), T{0});
      tree_.Update(leaf, row_.data());
      if (live) leaf = kNowhere;
    }
    if (!live) return;
    if (leaf == kNowhere) {
      if (leaves_ == tree_.rows() || nodes.rank(slot) < next_rank_) {
        Rebuild(state);
        return;
      }
      Append(slot, nodes.rank(slot));
    }
    ComputeRow(state.node(slot));
    tree_.Update(leaf, row_.data());
  }

  void Append(std::uint32_t slot, std::uint64_t rank) {
    leaf_of_slot_[slot] = static_cast<std::uint32_t>(leaves_);
    rank_of_slot_[slot] = rank;
    slot_of_leaf_[leaves_++] = slot;
    next_rank_ = rank + 1;
  }

  void Rebuild(const ClusterState& state) {
    const NodeTable& nodes = state.nodes();
    const auto order = nodes.order();
    const std::size_t width =
        (std::max<std::size_t>(lanes_.size(), 1) + Tree::kBlock - 1) / Tree::kBlock * Tree::kBlock;
    // Room for nodes that join.
    tree_.Reset(order.size() + order.size() / 16 + Tree::kFan, width);
    leaf_of_slot_.assign(nodes.slots(), kNowhere);
    rank_of_slot_.assign(nodes.slots(), 0);
    slot_of_leaf_.assign(tree_.rows(), 0);
    leaves_ = 0;
    next_rank_ = 0;
    for (const std::uint32_t slot : order) {
      const std::size_t leaf = leaves_;
      Append(slot, nodes.rank(slot));
      ComputeRow(state.node(slot));
      tree_.Fill(leaf, std::span<const T>(row_.data(), width));
    }
    tree_.RebuildAbove();
    seen_ = lane_seen_ = nodes.changes().end();
  }

  Answer AnswerFor(const ClusterState& state, std::size_t lane, std::size_t leaf) {
    const std::uint32_t slot = slot_of_leaf_[leaf];
    const NodeChoice best = rows_->Best(state.node(slot), lane, order_);
    assert(Stored(best.score) == tree_.row(leaf)[lane]);
    return {.outcome = Outcome::kFound, .slot = slot, .choice = best.choice, .score = best.score};
  }

  std::unique_ptr<RowScorer> rows_;
  ScoreRange range_;
  DeviceOrder order_;
  std::size_t max_lanes_;

  LaneFilter filter_;
  Tree tree_;
  typename Tree::Cursor cursor_;
  std::vector<Lane> lanes_;
  std::vector<std::uint16_t> lane_of_shape_;  // by shape slot
  std::vector<std::uint32_t> misses_;         // by shape slot
  std::uint32_t asked_ = 0;

  std::shared_ptr<const void> identity_;
  ChangeLog::Position seen_ = 0;
  // Of the lane that was asked about run_ times more in a row.
  ChangeLog::Position lane_seen_ = 0;
  std::size_t run_lane_ = kNoLane;
  std::size_t run_ = 0;
  std::vector<ChangeLog::Position> last_change_;  // by slot
  // Leaves are in node order; of a node that has gone, its leaf stays until the next rebuild.
  std::vector<std::uint32_t> leaf_of_slot_;
  std::vector<std::uint64_t> rank_of_slot_;
  std::vector<std::uint32_t> slot_of_leaf_;
  std::size_t leaves_ = 0;
  std::uint64_t next_rank_ = 0;

  const LaneKernels<T>& kernels_ = LaneKernelsFor<T>(SimdUse::kBest);
  std::vector<Score> scores_;
  std::vector<T> row_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<NodeIndex> MakeNodeIndex(std::unique_ptr<RowScorer> rows, ScoreRange range,
                                         DeviceOrder order, const NodeIndexOptions& options) {
  const std::int64_t width = std::int64_t{range.hi} - range.lo;
  if (width < std::numeric_limits<std::uint8_t>::max()) {
    return std::make_unique<TreeIndex<std::uint8_t>>(std::move(rows), range, order, options);
  }
  if (width < std::numeric_limits<std::uint16_t>::max()) {
    return std::make_unique<TreeIndex<std::uint16_t>>(std::move(rows), range, order, options);
  }
  return nullptr;
}

}  // namespace gpusched
