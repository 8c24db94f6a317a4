#include "gpusched/policy/erased/any_score.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "gpusched/policy/score/blend.h"
#include "gpusched/policy/score/weighted_rows.h"

namespace gpusched {

WeightedSum::WeightedSum(std::vector<WeightedScore> terms) : terms_(std::move(terms)) {
  std::int64_t sum = 0;
  for (const WeightedScore& term : terms_) sum += Blend::Counted(term.weight_milli);
  for (const WeightedScore& term : terms_) {
    factors_.push_back(Blend::Factor(term.weight_milli, sum, term.score.range()));
  }
}

Reads WeightedSum::reads() const {
  Reads all = Reads::kNothing;
  for (const WeightedScore& term : terms_) all = all | term.score.reads();
  return all;
}

DeviceOrder WeightedSum::device_order() const {
  return terms_.empty() ? DeviceOrder::kFullestFirst : terms_.front().score.device_order();
}

std::string_view WeightedSum::problem() const {
  for (const WeightedScore& term : terms_) {
    if (const auto text = Blend::Problem(term.weight_milli); !text.empty()) return text;
    if (const auto text = term.score.problem(); !text.empty()) return text;
  }
  return {};
}

namespace {

// A sum of node scores as a NodeScore, for asking it about one choice.
struct SumOfNodes {
  WeightedSum sum;

  static constexpr ScoreRange range() { return WeightedSum::range(); }
  Reads reads() const { return sum.reads(); }
  DeviceOrder device_order() const { return sum.device_order(); }
  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    return sum.Rank(node, shape, choice);
  }
};

}  // namespace

bool WeightedSum::ranks_nodes() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const WeightedScore& term) { return term.score.ranks_nodes(); });
}

Score WeightedSum::Rank(const NodeView& node, const Shape& shape,
                        const DeviceChoice& choice) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const AnyScore& score = terms_[i].score;
    Blend::Add(factors_[i], score.Rank(node, shape, choice), score.range(), sum);
  }
  return Blend::Round(sum);
}

std::unique_ptr<RowScorer> WeightedSum::Rows() const {
  if (terms_.empty() || !ranks_nodes()) return nullptr;
  std::vector<WeightedRows::Term> rows;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    auto term = terms_[i].score.Rows();
    if (term == nullptr) return nullptr;
    rows.push_back(
        {.rows = std::move(term), .factor = factors_[i], .range = terms_[i].score.range()});
  }
  return std::make_unique<WeightedRows>(
      std::move(rows), std::make_unique<DirectRows<SumOfNodes>>(SumOfNodes{*this}));
}

void WeightedSum::ScoreBatch(const Batch& batch, std::span<Score> out) const {
  std::vector<std::int64_t> sums(out.size(), 0);
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const AnyScore& score = terms_[i].score;
    score.ScoreBatch(batch, out);
    const ScoreRange range = score.range();
    for (std::size_t c = 0; c < out.size(); ++c) Blend::Add(factors_[i], out[c], range, sums[c]);
  }
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = Blend::Round(sums[c]);
}

}  // namespace gpusched
