// Placer: finds the best node for one task with a score that the engine need not know.
#ifndef GPUSCHED_ENGINE_PLACER_H_
#define GPUSCHED_ENGINE_PLACER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/decision/refusal.h"
#include "gpusched/engine/explain.h"
#include "gpusched/engine/scan.h"
#include "gpusched/export.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/filter/fit_filters.h"
#include "gpusched/policy/filter/job_filter.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// The engine's view of score and filters: one indirect call a search. Scores and filters stay plain
// values; BasicPlacer makes a Placer of them, with the whole search inlined for their types.
class GPUSCHED_EXPORT Placer {
 public:
  virtual ~Placer() = default;

  // The best place for the shape among nodes that the job's filter lets pass. Errors:
  // kInvalidArgument for a policy with wrong parameters, kInternal for a score outside its range.
  virtual absl::StatusOr<SearchResult> Find(const ClusterState& state, const Shape& shape,
                                            std::uint64_t sequence, const JobFilter& filter) = 0;
  // Why there is none. O(nodes × devices).
  virtual Refusal Explain(const StateView& view, const Shape& shape,
                          const JobFilter& filter) const = 0;
  // A copy with buffers of its own.
  virtual std::unique_ptr<Placer> Clone() const = 0;
};

// A Placer of these types.
template <PlacementScore P = AnyScore, class ExtraFilters = Filters<>>
class BasicPlacer final : public Placer {
 public:
  explicit BasicPlacer(P score, ExtraFilters filters = ExtraFilters())
      : score_(std::move(score)), filters_(std::move(filters)) {}

  absl::StatusOr<SearchResult> Find(const ClusterState& state, const Shape& shape,
                                    std::uint64_t sequence, const JobFilter& filter) override {
    if (const std::string_view problem = ProblemOf(score_); !problem.empty()) {
      return absl::InvalidArgumentError(std::string(problem));
    }
    const Filters<JobFilter, ExtraFilters> both(filter, filters_);
    const SearchResult best = scan_.Find(StateView(state), shape, sequence, both, score_);
    if (!best.found) return best;
    const ScoreRange range = score_.range();
    if (best.score < range.lo || best.score > range.hi) {
      return ScoreOutOfRange(state, best.candidate.slot, best.score, range);
    }
    return best;
  }

  Refusal Explain(const StateView& view, const Shape& shape,
                  const JobFilter& filter) const override {
    return ExplainNodes(view, shape, [&](const NodeView& node, auto&& add) {
      add(filter(node, shape));
      filters_.ForEach(node, shape, add);
    });
  }

  std::unique_ptr<Placer> Clone() const override {
    return std::make_unique<BasicPlacer>(score_, filters_);
  }

 private:
  P score_;
  ExtraFilters filters_;
  PlainScan scan_;
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_PLACER_H_
