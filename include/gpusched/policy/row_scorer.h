// RowScorer: a node score asked about one node and many shapes at once.
#ifndef GPUSCHED_POLICY_ROW_SCORER_H_
#define GPUSCHED_POLICY_ROW_SCORER_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "gpusched/policy/concepts.h"
#include "gpusched/policy/lane_mask.h"
#include "gpusched/policy/score/best_on_node.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// The form of a score that an index asks when a node has changed. Each shape has a lane, a number
// below kMaxLanes. Answers are those of the score itself, shape by shape; a score may have a
// RowScorer of its own, which shares work between shapes, by a member `Rows()` (Fgd, BestFit).
// Keeps buffers, so one thread at a time.
class RowScorer {
 public:
  virtual ~RowScorer() = default;

  // From now on the lane stands for this shape.
  virtual void SetLane(std::size_t lane, const Shape& shape) = 0;
  // Writes to out[lane], for each lane of `asked`, the score of the best choice on the node. The
  // shapes of all of them fit there.
  virtual void ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) = 0;
  // The best choice for one of them; ties within the node break by the order.
  virtual NodeChoice Best(const NodeView& node, std::size_t lane, DeviceOrder order) = 0;
  // Whether the score of a shape is the same on all devices of a plain node.
  virtual bool SameOnAllDevices() const { return false; }
  // Whether a row costs about as much as one shape, so that many lanes are no burden.
  virtual bool shares_work() const { return false; }
};

// Asks the score itself, shape by shape.
template <NodeScore P>
class DirectRows final : public RowScorer {
 public:
  explicit DirectRows(P score) : score_(std::move(score)) {}

  void SetLane(std::size_t lane, const Shape& shape) override {
    if (lane >= shapes_.size()) shapes_.resize(lane + 1);
    shapes_[lane] = shape;
  }
  void ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) override {
    const DeviceOrder order = DeviceOrderOf(score_);
    asked.ForEach([&](std::size_t lane) { out[lane] = Best(node, lane, order).score; });
  }
  NodeChoice Best(const NodeView& node, std::size_t lane, DeviceOrder order) override {
    const Shape& shape = shapes_[lane];
    return BestOnNode(node, shape, score_, order, ChoosesDevice(shape, ReadsOf(score_)));
  }

 private:
  P score_;
  std::vector<Shape> shapes_;
};

// The RowScorer of a score that depends on the node and its devices alone; null for any other.
template <PlacementScore P>
std::unique_ptr<RowScorer> RowsOf(const P& score) {
  constexpr Reads kLocal = Reads::kNode | Reads::kDevice;
  if ((ReadsOf(score) | kLocal) != kLocal) return nullptr;
  if constexpr (requires { score.Rows(); }) {
    return score.Rows();
  } else if constexpr (NodeScore<P>) {
    return std::make_unique<DirectRows<P>>(score);
  } else {
    return nullptr;
  }
}

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_ROW_SCORER_H_
