// Placer: finds the best node for one task with a score that the engine need not know.
#ifndef GPUSCHED_ENGINE_PLACER_H_
#define GPUSCHED_ENGINE_PLACER_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/decision/refusal.h"
#include "gpusched/engine/column_account.h"
#include "gpusched/engine/explain.h"
#include "gpusched/engine/scan.h"
#include "gpusched/engine/search_options.h"
#include "gpusched/export.h"
#include "gpusched/index/ever_fits.h"
#include "gpusched/index/fit_columns.h"
#include "gpusched/index/node_index.h"
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
  // The outcome of that refusal alone: kWait or kNever.
  virtual Outcome ExplainOutcome(const ClusterState& state, const Shape& shape,
                                 const JobFilter& filter) = 0;
  // A copy with buffers of its own.
  virtual std::unique_ptr<Placer> Clone() const = 0;

  // Gets ready for these shapes all at once, as far as there is something to keep for them.
  virtual void Prepare(const ClusterState& state, std::span<const ShapeId> shapes) = 0;
  // How many searches took which way.
  virtual const PathCounts& path_counts() const = 0;
  // Memory of the index; 0 while there is none.
  virtual std::size_t index_bytes() const = 0;
};

// A Placer of these types.
template <PlacementScore P = AnyScore, class ExtraFilters = Filters<>>
class BasicPlacer final : public Placer {
 public:
  explicit BasicPlacer(P score, ExtraFilters filters = ExtraFilters(), SearchOptions options = {})
      : score_(std::move(score)),
        filters_(std::move(filters)),
        options_(options),
        problem_(ProblemOf(score_)),
        range_(score_.range()) {
    const bool may = options_.path == SearchPath::kAuto || options_.path == SearchPath::kIndex;
    if (may && problem_.empty()) {
      index_ = MakeNodeIndexFor(score_, {.max_lanes = options_.max_lanes});
    }
  }

  absl::StatusOr<SearchResult> Find(const ClusterState& state, const Shape& shape,
                                    std::uint64_t sequence, const JobFilter& filter) override {
    if (!problem_.empty()) return absl::InvalidArgumentError(std::string(problem_));
    SearchResult best;
    if (!UsesIndex(state) || !AskIndex(state, shape, filter, best)) {
      best = UsesColumns(state) ? ScanColumns(state, shape, sequence, filter)
                                : Scan(state, shape, sequence, filter);
    } else {
      assert(IsThatOfScan(state, shape, sequence, filter, best));
    }
    ++path_counts_[static_cast<std::size_t>(best.path)];
    if (!best.found) return best;
    if (best.score < range_.lo || best.score > range_.hi) {
      return ScoreOutOfRange(state, best.candidate.slot, best.score, range_);
    }
    return best;
  }

  Refusal Explain(const StateView& view, const Shape& shape,
                  const JobFilter& filter) const override {
    const ClusterState& state = view.state();
    if (UsesColumns(state) && std::is_same_v<ExtraFilters, Filters<>> && filter.passes_all()) {
      return ExplainByColumns(columns_, state, shape);
    }
    return ExplainNodes(view, shape, [&](const NodeView& node, auto&& add) {
      add(filter(node, shape));
      filters_.ForEach(node, shape, add);
    });
  }

  Outcome ExplainOutcome(const ClusterState& state, const Shape& shape,
                         const JobFilter& filter) override {
    // Filters beyond the fit may say "never" too.
    if (!std::is_same_v<ExtraFilters, Filters<>> || !filter.passes_all()) {
      return Explain(state, shape, filter).outcome;
    }
    return state.node_count() == 0 || ever_fits_(state, shape) ? Outcome::kWait : Outcome::kNever;
  }

  std::unique_ptr<Placer> Clone() const override {
    return std::make_unique<BasicPlacer>(score_, filters_, options_);
  }

  void Prepare(const ClusterState& state, std::span<const ShapeId> shapes) override {
    if (UsesIndex(state)) index_->Prepare(state, shapes);
  }
  const PathCounts& path_counts() const override { return path_counts_; }
  std::size_t index_bytes() const override {
    return (index_ == nullptr ? 0 : index_->bytes()) + columns_.bytes();
  }

 private:
  // Nodes so few that looking at them costs less than keeping something about them.
  static constexpr std::size_t kFew = 16;

  bool UsesIndex(const ClusterState& state) const {
    if (index_ == nullptr) return false;
    if (options_.path == SearchPath::kIndex) return true;
    // A decision changes a node or two. If that costs a look at each lane, scanning few nodes is
    // cheaper.
    constexpr std::size_t kMany = 4 * kMaxLanes;
    const std::size_t nodes = state.node_count();
    return nodes >= kMany ||
           nodes >= (index_->shares_work() ? kFew : std::max(kFew, 4 * index_->lanes()));
  }

  bool UsesColumns(const ClusterState& state) const {
    if (options_.path == SearchPath::kAuto) return state.node_count() >= kFew;
    return options_.path != SearchPath::kScan;
  }

  // False: the index does not know.
  bool AskIndex(const ClusterState& state, const Shape& shape, const JobFilter& filter,
                SearchResult& best) {
    NodeIndex::Answer answer;
    if (std::is_same_v<ExtraFilters, Filters<>> && filter.passes_all()) {
      answer = index_->Find(state, shape);
    } else {
      const Filters<JobFilter, ExtraFilters> both(filter, filters_);
      answer = index_->FindWhere(
          state, shape, [&](const NodeView& node) { return both(node, shape).verdict.ok(); });
    }
    if (answer.outcome == NodeIndex::Outcome::kUnknown) return false;
    best = {.found = answer.outcome == NodeIndex::Outcome::kFound,
            .candidate = {.slot = answer.slot,
                          .devices = answer.choice.devices,
                          .instance = answer.choice.instance},
            .score = answer.score,
            .path = DecisionPath::kIndex};
    return true;
  }

  SearchResult Scan(const ClusterState& state, const Shape& shape, std::uint64_t sequence,
                    const JobFilter& filter) {
    const Filters<JobFilter, ExtraFilters> both(filter, filters_);
    return scan_.Find(StateView(state), shape, sequence, both, score_);
  }

  SearchResult ScanColumns(const ClusterState& state, const Shape& shape, std::uint64_t sequence,
                           const JobFilter& filter) {
    const Filters<JobFilter, ExtraFilters> both(filter, filters_);
    SearchResult best =
        scan_.FindAmong(StateView(state), shape, sequence, both, score_,
                        [&](const auto& visit) { columns_.ForEachFitting(state, shape, visit); });
    best.path = DecisionPath::kColumns;
    return best;
  }

  // In a debug build, some answers of the index are looked up the long way.
  bool IsThatOfScan(const ClusterState& state, const Shape& shape, std::uint64_t sequence,
                    const JobFilter& filter, const SearchResult& best) {
    constexpr std::uint64_t kOneIn = 64;
    if (path_counts_[static_cast<std::size_t>(DecisionPath::kIndex)] % kOneIn != 0) return true;
    const SearchResult scanned = Scan(state, shape, sequence, filter);
    if (!scanned.found) return !best.found;
    return best.found && best.score == scanned.score && best.candidate == scanned.candidate;
  }

  P score_;
  ExtraFilters filters_;
  SearchOptions options_;
  // What the score says of itself; it is a value, so it says so for good.
  std::string_view problem_;
  ScoreRange range_;
  std::unique_ptr<NodeIndex> index_;
  PlainScan scan_;
  mutable FitColumns columns_;  // asking them brings them up to date
  EverFits ever_fits_;
  PathCounts path_counts_{};
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_PLACER_H_
