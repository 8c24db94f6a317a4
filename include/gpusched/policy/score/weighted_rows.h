// WeightedRows: a weighted sum of scores asked about many shapes on one node.
#ifndef GPUSCHED_POLICY_SCORE_WEIGHTED_ROWS_H_
#define GPUSCHED_POLICY_SCORE_WEIGHTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/policy/row_scorer.h"

namespace gpusched {

// If at most one term tells the devices of a node apart, the best device for the sum is the best
// one for that term, and the sum of rows is the row of the sum. Else, and for nodes and shapes that
// are not plain, `direct` is asked: the sum itself, shape by shape.
class GPUSCHED_EXPORT WeightedRows final : public RowScorer {
 public:
  struct Term {
    std::unique_ptr<RowScorer> rows;
    std::int64_t factor = 0;  // Blend::Factor
    ScoreRange range;
  };

  WeightedRows(std::vector<Term> terms, std::unique_ptr<RowScorer> direct);

  void SetLane(std::size_t lane, const Shape& shape) override;
  void ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) override;
  NodeChoice Best(const NodeView& node, std::size_t lane, DeviceOrder order) override;
  bool shares_work() const override { return separable_; }

 private:
  std::vector<Term> terms_;
  std::unique_ptr<RowScorer> direct_;
  LaneMask plain_;  // lanes of plain shapes
  bool separable_ = true;
  std::size_t chooser_ = 0;  // the term that tells devices apart, or the first
  bool strict_ = false;      // one step of the chooser is at least one of the sum
  std::vector<Score> scores_;
  std::vector<std::int64_t> sums_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_WEIGHTED_ROWS_H_
