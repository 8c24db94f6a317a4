#include "gpusched/policy/erased/any_score.h"

#include <cstddef>

#include "gpusched/policy/score/blend.h"

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
