// AnyScore: any score behind one type, chosen at run time (by name, from Python).
#ifndef GPUSCHED_POLICY_ERASED_ANY_SCORE_H_
#define GPUSCHED_POLICY_ERASED_ANY_SCORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/policy/score/score_all.h"

namespace gpusched {

// Holds a score by shared, constant ownership; itself a BatchScore. The one virtual call is made
// per batch of candidates, so erasure costs nothing that can be measured over many nodes.
class AnyScore {
 public:
  template <PlacementScore P>
  requires(!std::same_as<P, AnyScore>)
      AnyScore(P policy)  // NOLINT(google-explicit-constructor): any score is one
      : self_(std::make_shared<const Model<P>>(std::move(policy))) {}

  ScoreRange range() const { return self_->range(); }
  Reads reads() const { return self_->reads(); }
  DeviceOrder device_order() const { return self_->device_order(); }
  std::string_view problem() const { return self_->problem(); }
  void ScoreBatch(const Batch& batch, std::span<Score> out) const { self_->ScoreBatch(batch, out); }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual ScoreRange range() const = 0;
    virtual Reads reads() const = 0;
    virtual DeviceOrder device_order() const = 0;
    virtual std::string_view problem() const = 0;
    virtual void ScoreBatch(const Batch& batch, std::span<Score> out) const = 0;
  };

  template <class P>
  struct Model final : Interface {
    explicit Model(P p) : policy(std::move(p)) {}
    ScoreRange range() const override { return policy.range(); }
    Reads reads() const override { return ReadsOf(policy); }
    DeviceOrder device_order() const override { return DeviceOrderOf(policy); }
    std::string_view problem() const override { return ProblemOf(policy); }
    void ScoreBatch(const Batch& batch, std::span<Score> out) const override {
      ScoreAll(policy, batch, out);
    }
    P policy;
  };

  std::shared_ptr<const Interface> self_;
};

// A term of a sum built at run time.
struct WeightedScore {
  std::int64_t weight_milli = 0;
  AnyScore score;
};

// The run-time form of Weighted, by the same rule (Blend): a BatchScore over any number of terms.
class GPUSCHED_EXPORT WeightedSum {
 public:
  explicit WeightedSum(std::vector<WeightedScore> terms);

  static constexpr ScoreRange range() { return {0, 10'000}; }
  Reads reads() const;
  DeviceOrder device_order() const;
  std::string_view problem() const;
  void ScoreBatch(const Batch& batch, std::span<Score> out) const;

 private:
  std::vector<WeightedScore> terms_;
  std::vector<std::int64_t> factors_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_ERASED_ANY_SCORE_H_
