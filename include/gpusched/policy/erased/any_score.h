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
#include "gpusched/policy/row_scorer.h"
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
  // Null if the score depends on more than the node.
  std::unique_ptr<RowScorer> Rows() const { return self_->Rows(); }
  // Whether it is a NodeScore, which Rank may be asked of.
  bool ranks_nodes() const { return self_->ranks_nodes(); }
  Score Rank(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    return self_->Rank(node, shape, choice);
  }

 private:
  struct Interface {
    virtual ~Interface() = default;
    virtual ScoreRange range() const = 0;
    virtual Reads reads() const = 0;
    virtual DeviceOrder device_order() const = 0;
    virtual std::string_view problem() const = 0;
    virtual void ScoreBatch(const Batch& batch, std::span<Score> out) const = 0;
    virtual std::unique_ptr<RowScorer> Rows() const = 0;
    virtual bool ranks_nodes() const = 0;
    virtual Score Rank(const NodeView& node, const Shape& shape,
                       const DeviceChoice& choice) const = 0;
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
    std::unique_ptr<RowScorer> Rows() const override { return RowsOf(policy); }
    bool ranks_nodes() const override {
      if constexpr (NodeScore<P>) return true;
      if constexpr (requires { policy.ranks_nodes(); }) return policy.ranks_nodes();
      return false;
    }
    Score Rank(const NodeView& node, const Shape& shape,
               const DeviceChoice& choice) const override {
      if constexpr (NodeScore<P>) return policy(node, shape, choice);
      if constexpr (requires { policy.Rank(node, shape, choice); }) {
        return policy.Rank(node, shape, choice);
      }
      return policy.range().lo;
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
  // Null if a term depends on more than the node.
  std::unique_ptr<RowScorer> Rows() const;
  bool ranks_nodes() const;
  Score Rank(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const;

 private:
  std::vector<WeightedScore> terms_;
  std::vector<std::int64_t> factors_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_ERASED_ANY_SCORE_H_
