#include "gpusched/policy/score/weighted_rows.h"

#include <utility>

#include "gpusched/policy/score/blend.h"

namespace gpusched {

WeightedRows::WeightedRows(std::vector<Term> terms, std::unique_ptr<RowScorer> direct)
    : terms_(std::move(terms)),
      direct_(std::move(direct)),
      scores_(kMaxLanes, 0),
      sums_(kMaxLanes, 0) {
  std::size_t choosers = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    separable_ = separable_ && terms_[i].rows->shares_work();
    if (terms_[i].rows->SameOnAllDevices()) continue;
    ++choosers;
    chooser_ = i;
  }
  separable_ = separable_ && choosers <= 1;
  strict_ = !terms_.empty() && terms_[chooser_].factor >= std::int64_t{1} << 32;
}

void WeightedRows::SetLane(std::size_t lane, const Shape& shape) {
  plain_.Remove(lane);
  if (shape.plain()) plain_.Insert(lane);
  for (Term& term : terms_) term.rows->SetLane(lane, shape);
  direct_->SetLane(lane, shape);
}

void WeightedRows::ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) {
  const LaneMask summed = separable_ && node.plain() ? asked & plain_ : LaneMask();
  if (const LaneMask rest = asked - summed; !rest.empty()) direct_->ScoreRow(node, rest, out);
  if (summed.empty()) return;
  summed.ForEach([&](std::size_t lane) { sums_[lane] = 0; });
  for (Term& term : terms_) {
    term.rows->ScoreRow(node, summed, scores_.data());
    summed.ForEach(
        [&](std::size_t lane) { Blend::Add(term.factor, scores_[lane], term.range, sums_[lane]); });
  }
  summed.ForEach([&](std::size_t lane) { out[lane] = Blend::Round(sums_[lane]); });
}

NodeChoice WeightedRows::Best(const NodeView& node, std::size_t lane, DeviceOrder order) {
  // With a coarse factor two devices that the chooser tells apart may be equal in the sum, and then
  // the order decides.
  if (!separable_ || !node.plain() || !plain_.contains(lane) || !strict_) {
    return direct_->Best(node, lane, order);
  }
  std::int64_t sum = 0;
  NodeChoice best;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const NodeChoice choice = terms_[i].rows->Best(node, lane, order);
    if (i == chooser_) best = choice;
    Blend::Add(terms_[i].factor, choice.score, terms_[i].range, sum);
  }
  best.score = Blend::Round(sum);
  return best;
}

}  // namespace gpusched
