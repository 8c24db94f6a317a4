// Blend: the arithmetic of a weighted sum of scores, shared by the static and the erased form.
#ifndef GPUSCHED_POLICY_SCORE_BLEND_H_
#define GPUSCHED_POLICY_SCORE_BLEND_H_

#include <cmath>
#include <cstdint>
#include <string_view>

#include "gpusched/policy/concepts.h"

namespace gpusched {

// The one rounding rule of composed scores. With weights w_i, W their sum, and each score s_i in
// its declared range [lo_i, hi_i]:
//
//   ⌊ Σ f_i · (s_i − lo_i) / 2^32 + ½ ⌋,   f_i = ⌊ w_i · 10000 · 2^32 / (W · (hi_i − lo_i)) ⌋
//
// so every term counts by its weight whatever its scale, only ratios of weights matter, and the sum
// is rounded once. A score with a range of one value adds nothing. Range [0, 10000]. If a score has
// left its declared range, the sum is kBroken, which leaves ours: the error is not averaged away.
struct Blend {
  static constexpr ScoreRange kRange = {0, 10'000};
  static constexpr Score kBroken = kRange.hi + 1;
  static constexpr std::int64_t kMaxWeightMilli = 1'000'000;

  static constexpr std::int64_t kBrokenSum = -1;  // true sums are never negative

  // f_i of a term.
  static constexpr std::int64_t Factor(std::int64_t weight_milli, std::int64_t weight_sum,
                                       ScoreRange range) {
    const std::int64_t width = std::int64_t{range.hi} - range.lo;
    if (width <= 0 || weight_sum <= 0) return 0;
    return static_cast<std::int64_t>((Wide{weight_milli} * kRange.hi << 32) /
                                     (Wide{weight_sum} * width));
  }

  // The term f_i · (s_i − lo_i), added to `sum`. A broken score makes the sum kBrokenSum for good.
  static constexpr void Add(std::int64_t factor, Score score, ScoreRange range, std::int64_t& sum) {
    if (score < range.lo || score > range.hi) sum = kBrokenSum;
    if (sum != kBrokenSum) sum += factor * (std::int64_t{score} - range.lo);
  }

  // Rounds the sum of all terms.
  static constexpr Score Round(std::int64_t sum) {
    if (sum == kBrokenSum) return kBroken;
    return static_cast<Score>((sum + (std::int64_t{1} << 31)) >> 32);
  }

  // A weight in milli, rounded to nearest; 0 if it is not one (see Problem).
  static std::int64_t WeightMilli(double weight) {
    if (!(weight >= 0.001 && weight <= 1000)) return 0;
    return std::llround(weight * 1000);
  }

  // A weight as it counts in W: one that is wrong counts as 0, since sums of them need not fit.
  static constexpr std::int64_t Counted(std::int64_t weight_milli) {
    return Problem(weight_milli).empty() ? weight_milli : 0;
  }

  // What is wrong with a weight; empty if nothing.
  static constexpr std::string_view Problem(std::int64_t weight_milli) {
    if (weight_milli >= 1 && weight_milli <= kMaxWeightMilli) return {};
    return "a weight must be 0.001 to 1000 (resolution 0.001)";
  }
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_BLEND_H_
