// BasicScheduler: decides where a task goes, and commits it.
#ifndef GPUSCHED_ENGINE_SCHEDULER_H_
#define GPUSCHED_ENGINE_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gpusched/decision/decision.h"
#include "gpusched/engine/account.h"
#include "gpusched/engine/placer.h"
#include "gpusched/export.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/filter/fit_filters.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"

namespace gpusched {

// Refuses requests that are errors rather than waits: an unknown shape, a GPU asked of a cluster
// that has none.
GPUSCHED_EXPORT absl::Status CheckAskable(const ClusterState& state, ShapeId shape);

// One state, one score, and filters beyond the built-in fit (which always holds). With concrete
// types no call is indirect; Scheduler below is the run-time form. Thread-compatible. The state
// must outlive it.
template <PlacementScore P = AnyScore, class ExtraFilters = Filters<>>
class BasicScheduler {
 public:
  BasicScheduler(ClusterState& state, P score, ExtraFilters filters = ExtraFilters(),
                 SearchOptions options = {})
      : state_(state), placer_(std::move(score), std::move(filters), options) {}

  const ClusterState& state() const { return state_; }
  // How many decisions were committed, or refused by Place; a policy that draws at random reads it.
  std::uint64_t sequence() const { return sequence_; }

  // Gets the index ready for these shapes all at once, which costs less than one after the other as
  // they are asked about.
  void Prepare(std::span<const ShapeId> shapes) { placer_.Prepare(state_, shapes); }
  // How many decisions took which way.
  const PathCounts& path_counts() const { return placer_.path_counts(); }
  // Memory of the index.
  std::size_t index_bytes() const { return placer_.index_bytes(); }

  // Where would a task of this shape go, now? Changes nothing. Errors: kInvalidArgument (unknown
  // shape, policy parameters), kFailedPrecondition (GPU asked of a cluster without any), kInternal
  // (a score outside its declared range).
  absl::StatusOr<Decision> Decide(ShapeId shape, RefusalDetail detail = RefusalDetail::kFull) {
    if (absl::Status status = CheckAskable(state_, shape); !status.ok()) return status;
    const StateView view(state_);
    const Shape& request = view.shape(shape);
    const absl::StatusOr<SearchResult> best = placer_.Find(state_, request, sequence_, JobFilter());
    if (!best.ok()) return best.status();
    Decision decision{
        .path = best->path, .shape = shape, .placement = {}, .grant = {}, .refusal = {}};
    if (!best->found) {
      if (detail == RefusalDetail::kFull) {
        decision.refusal = placer_.Explain(view, request, JobFilter());
      } else {
        decision.refusal.outcome = placer_.ExplainOutcome(state_, request, JobFilter());
      }
      decision.kind =
          decision.refusal.outcome == Outcome::kNever ? DecisionKind::kReject : DecisionKind::kWait;
      return decision;
    }
    decision.kind = DecisionKind::kPlace;
    const std::uint32_t slot = best->candidate.slot;
    decision.placement = {.node = view.nodes().id(slot), .devices = best->candidate.devices};
    // A policy that ends the transaction in which it is asked takes the node away with it.
    if (view.nodes().live(slot)) {
      decision.placement = PlacementOf(view.node(slot), request, best->candidate.choice());
      decision.grant = GrantOf(state_, request, decision.placement);
    }
    decision.score = best->score;
    return decision;
  }

  // Gives the task what was decided. Errors as in Transaction::Place (kFailedPrecondition if the
  // state has moved on and it does not fit any more); a decision that places nothing is
  // kInvalidArgument.
  absl::StatusOr<TaskId> Commit(std::string_view task, const Decision& decision) {
    if (!decision.placed()) {
      return absl::InvalidArgumentError("decision is not a placement; nothing to commit");
    }
    Transaction transaction(state_);
    absl::StatusOr<TaskId> id = transaction.Place(task, decision.shape, decision.placement);
    if (id.ok()) {
      transaction.Commit();
      ++sequence_;
    }
    return id;
  }

  // Decides and, if it found a place, commits. A name that is running is refused before anything is
  // decided. Errors as in Decide and Commit.
  absl::StatusOr<Decision> Place(std::string_view task, ShapeId shape,
                                 RefusalDetail detail = RefusalDetail::kFull) {
    if (absl::Status status = state_.CheckNewTask(task); !status.ok()) return status;
    absl::StatusOr<Decision> decision = Decide(shape, detail);
    if (!decision.ok()) return decision;
    if (decision->placed()) {
      if (absl::StatusOr<TaskId> id = Commit(task, *decision); !id.ok()) return id.status();
    } else {
      ++sequence_;
    }
    return decision;
  }

  // Decides and commits one task after the other, in the given order, each seeing those before it;
  // they have no names, but the handles that come out. What finds no place is left out, with the
  // outcome alone. `out` has as many entries as there are shapes. Errors as in Decide and Commit;
  // then none of them is placed.
  absl::Status PlaceMany(std::span<const ShapeId> shapes, std::span<BatchPlacement> out) {
    if (out.size() != shapes.size()) {
      return InvalidField("", "out", absl::StrCat(out.size(), " entries"),
                          absl::StrCat("give one for each of the ", shapes.size(), " shapes"));
    }
    Transaction transaction(state_);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (absl::Status status = PlaceNext(transaction, shapes[i], sequence_ + i, out[i]);
          !status.ok()) {
        return status;
      }
    }
    transaction.Commit();
    sequence_ += shapes.size();
    return absl::OkStatus();
  }

  // The same for one task.
  absl::StatusOr<BatchPlacement> PlaceUnnamed(ShapeId shape) {
    BatchPlacement placement;
    if (absl::Status status = PlaceMany({&shape, 1}, {&placement, 1}); !status.ok()) return status;
    return placement;
  }

  // Takes a task's resources back. Errors: kNotFound if it is not running (any more).
  absl::Status Release(TaskId task) {
    Transaction transaction(state_);
    absl::Status status = transaction.Release(task);
    if (status.ok()) transaction.Commit();
    return status;
  }

 private:
  absl::Status PlaceNext(Transaction& transaction, ShapeId shape, std::uint64_t sequence,
                         BatchPlacement& out) {
    if (absl::Status status = CheckAskable(state_, shape); !status.ok()) return status;
    const Shape& request = state_.shapes()[shape];
    const absl::StatusOr<SearchResult> best = placer_.Find(state_, request, sequence, JobFilter());
    if (!best.ok()) return best.status();
    if (!best->found) {
      const Outcome outcome = placer_.ExplainOutcome(state_, request, JobFilter());
      out = {.kind = outcome == Outcome::kNever ? DecisionKind::kReject : DecisionKind::kWait};
      return absl::OkStatus();
    }
    const std::uint32_t slot = best->candidate.slot;
    const Placement placement =
        state_.nodes().live(slot)
            ? PlacementOf(state_.node(slot), request, best->candidate.choice())
            : Placement{.node = state_.nodes().id(slot), .devices = best->candidate.devices};
    const absl::StatusOr<TaskId> task = transaction.PlaceUnnamed(shape, placement);
    if (!task.ok()) return task.status();
    out = {.task = *task,
           .node = placement.node,
           .devices = placement.devices,
           .score = best->score,
           .kind = DecisionKind::kPlace};
    return absl::OkStatus();
  }

  ClusterState& state_;
  BasicPlacer<P, ExtraFilters> placer_;
  std::uint64_t sequence_ = 0;
};

// The scheduler whose policy is chosen at run time.
using Scheduler = BasicScheduler<AnyScore>;
extern template class GPUSCHED_EXPORT BasicScheduler<AnyScore>;

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_SCHEDULER_H_
