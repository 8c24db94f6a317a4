// Weighted: scores composed by value: 0.8 * Fgd{…} + 0.2 * BestFit{}.
#ifndef GPUSCHED_POLICY_SCORE_WEIGHTED_H_
#define GPUSCHED_POLICY_SCORE_WEIGHTED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpusched/policy/concepts.h"
#include "gpusched/policy/row_scorer.h"
#include "gpusched/policy/score/blend.h"
#include "gpusched/policy/score/score_all.h"
#include "gpusched/policy/score/weighted_rows.h"

namespace gpusched {

// A weighted sum of scores by the rule of Blend; itself a score, and a NodeScore if every term is
// one. Sums and multiples of sums are flattened, so that rounding happens once. Ties within a node
// break by the device order of the first term.
template <PlacementScore... Ps>
class Weighted {
 public:
  using Weights = std::array<std::int64_t, sizeof...(Ps)>;  // milli

  Weighted(std::tuple<Ps...> terms, Weights weights) : terms_(std::move(terms)), weights_(weights) {
    std::int64_t sum = 0;
    for (const std::int64_t weight : weights_) sum += Blend::Counted(weight);
    std::size_t i = 0;
    std::apply(
        [&](const Ps&... term) {
          ((factors_[i] = Blend::Factor(weights_[i], sum, term.range()), ++i), ...);
        },
        terms_);
  }

  const std::tuple<Ps...>& terms() const { return terms_; }
  const Weights& weights() const { return weights_; }

  static constexpr ScoreRange range() { return Blend::kRange; }
  Reads reads() const {
    return std::apply([](const Ps&... term) { return (ReadsOf(term) | ...); }, terms_);
  }
  DeviceOrder device_order() const { return DeviceOrderOf(std::get<0>(terms_)); }
  std::string_view problem() const {
    for (const std::int64_t weight : weights_) {
      if (const auto text = Blend::Problem(weight); !text.empty()) return text;
    }
    std::string_view first;
    std::apply([&](const Ps&... term) { (void)((first = ProblemOf(term), first.empty()) && ...); },
               terms_);
    return first;
  }

  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& devices) const
      requires(NodeScore<Ps>&&...) {
    std::int64_t sum = 0;
    std::size_t i = 0;
    std::apply(
        [&](const Ps&... term) {
          ((Blend::Add(factors_[i], term(node, shape, devices), term.range(), sum), ++i), ...);
        },
        terms_);
    return Blend::Round(sum);
  }

  // Null if a term depends on more than the node.
  std::unique_ptr<RowScorer> Rows() const requires(NodeScore<Ps>&&...) {
    std::vector<WeightedRows::Term> rows;
    std::size_t i = 0;
    const auto add = [&](const auto& term) {
      rows.push_back({.rows = RowsOf(term), .factor = factors_[i++], .range = term.range()});
    };
    std::apply([&](const Ps&... term) { (add(term), ...); }, terms_);
    for (const WeightedRows::Term& term : rows) {
      if (term.rows == nullptr) return nullptr;
    }
    return std::make_unique<WeightedRows>(std::move(rows),
                                          std::make_unique<DirectRows<Weighted>>(*this));
  }

  void ScoreBatch(const Batch& batch, std::span<Score> out) const
      requires(!(NodeScore<Ps> && ...)) {
    std::vector<std::int64_t> sums(out.size(), 0);
    std::size_t i = 0;
    const auto add = [&](const auto& term) {
      ScoreAll(term, batch, out);
      for (std::size_t c = 0; c < out.size(); ++c) {
        Blend::Add(factors_[i], out[c], term.range(), sums[c]);
      }
      ++i;
    };
    std::apply([&](const Ps&... term) { (add(term), ...); }, terms_);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = Blend::Round(sums[c]);
  }

 private:
  std::tuple<Ps...> terms_;
  Weights weights_;
  Weights factors_{};
};

namespace internal_weighted {

template <class P>
struct IsWeighted : std::false_type {};
template <class... Ps>
struct IsWeighted<Weighted<Ps...>> : std::true_type {};

// Any score as a sum.
template <PlacementScore P>
auto AsSum(P policy) {
  if constexpr (IsWeighted<P>::value) {
    return policy;
  } else {
    return Weighted<P>(std::tuple<P>(std::move(policy)), {kMilli});
  }
}

template <class... As, std::size_t N, class... Bs, std::size_t M>
auto Join(const std::tuple<As...>& a, const std::array<std::int64_t, N>& wa,
          const std::tuple<Bs...>& b, const std::array<std::int64_t, M>& wb) {
  std::array<std::int64_t, N + M> weights{};
  for (std::size_t i = 0; i < N; ++i) weights[i] = wa[i];
  for (std::size_t i = 0; i < M; ++i) weights[N + i] = wb[i];
  return Weighted<As..., Bs...>(std::tuple_cat(a, b), weights);
}

}  // namespace internal_weighted

// Scales a score, or all terms of a sum. A weight outside 0.001 to 1000 makes problem() say so.
template <PlacementScore P>
auto operator*(double weight, P policy) {
  auto sum = internal_weighted::AsSum(std::move(policy));
  const std::int64_t scale = Blend::WeightMilli(weight);
  auto weights = sum.weights();
  for (std::int64_t& w : weights) w = (Blend::Counted(w) * scale + kMilli / 2) / kMilli;
  return decltype(sum)(sum.terms(), weights);
}

template <PlacementScore A, PlacementScore B>
auto operator+(A a, B b) {
  const auto left = internal_weighted::AsSum(std::move(a));
  const auto right = internal_weighted::AsSum(std::move(b));
  return internal_weighted::Join(left.terms(), left.weights(), right.terms(), right.weights());
}

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_WEIGHTED_H_
