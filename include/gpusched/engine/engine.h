// Engine: events in, plans out: the cycle that everything plugs into (docs/cycle.md).
#ifndef GPUSCHED_ENGINE_ENGINE_H_
#define GPUSCHED_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/base/time.h"
#include "gpusched/decision/effect.h"
#include "gpusched/decision/plan.h"
#include "gpusched/engine/account.h"
#include "gpusched/engine/placer.h"
#include "gpusched/engine/settings.h"
#include "gpusched/export.h"
#include "gpusched/journal/journal.h"
#include "gpusched/journal/record.h"
#include "gpusched/policy/priority/job_order.h"
#include "gpusched/spec/event.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// Makes the placer for a state, in which a policy may intern what it needs.
using PlacerFactory = std::function<absl::StatusOr<std::unique_ptr<Placer>>(ClusterState&)>;

// What decides. It is code, so it is not saved: give it again on restoring.
struct EnginePolicies {
  PlacerFactory placer;  // absent: BestFit, no filters beyond the built-in ones
  AnyJobOrder order;
};

// A factory for any score, and filters as Filters<…>: `PlacerOf(0.8 * fgd + 0.2 * BestFit{},
// Filters<MyFilter>(MyFilter{}))`.
template <PlacementScore P, class ExtraFilters = Filters<>>
PlacerFactory PlacerOf(P score, ExtraFilters filters = ExtraFilters(), SearchOptions options = {}) {
  return [score = std::move(score), filters = std::move(filters),
          options](ClusterState&) -> absl::StatusOr<std::unique_ptr<Placer>> {
    return std::unique_ptr<Placer>(new BasicPlacer<P, ExtraFilters>(score, filters, options));
  };
}

// One cluster with its jobs. Tell it events, ask it for a plan, commit the plan, carry it out, and
// tell it what became of it. Thread-compatible; fork it for a second thread or a what-if. Decisions
// depend on what was told and committed, never on a clock or on how often they were asked for.
class GPUSCHED_EXPORT Engine {
 public:
  // Errors: kInvalidArgument for a setting out of range, or what the placer's factory says.
  static absl::StatusOr<Engine> Create(EngineSettings settings = {}, EnginePolicies policies = {},
                                       ModelCatalog catalog = {});

  // Takes one event in. Errors are those named in spec/event.h, kInvalidArgument for a bad field,
  // and those of the journal; then nothing has changed.
  absl::StatusOr<Effect> Apply(const Event& event);

  // What should be done at `now`, which is not before any time told before? Changes nothing.
  // Errors: kInvalidArgument (time, policy parameters), kInternal (a score outside its range).
  absl::StatusOr<Plan> Decide(Time now);

  // Takes the plan as done: placed tasks are assumed to start, evicted ones to stop. Errors:
  // kFailedPrecondition if anything has changed since it was made (decide again), and those of the
  // journal; then nothing has changed. The plan is to be this engine's: one of a fork with as many
  // changes behind it is not told apart.
  absl::StatusOr<Effect> Commit(const Plan& plan);

  // Takes back those placements of a committed plan that have not started; without any, no change.
  absl::StatusOr<Effect> Abort(const Plan& plan);

  // Why does this job wait? Works out the next cycle for the present time and gives the full
  // account. Errors: kNotFound, and as in Decide.
  absl::StatusOr<JobAccount> Explain(std::string_view job);

  // --- reading -------------------------------------------------------------------------------
  const ClusterState& state() const { return state_; }
  const EngineSettings& settings() const { return settings_; }
  // Counts the changes; a plan is made for one version.
  std::uint64_t version() const { return version_; }
  // How many searches for a place took which way, in all cycles of this engine.
  const PathCounts& path_counts() const { return placer_->path_counts(); }
  // Live jobs in the order in which they are served.
  std::vector<JobStatus> Jobs() const;
  // Errors: kNotFound.
  absl::StatusOr<JobStatus> Job(std::string_view name) const;

  // --- keeping -------------------------------------------------------------------------------
  // From now on each change is appended to the journal before it counts. A fresh writer: the
  // present state goes first, and the journal must be empty. One from Restore: the journal goes on
  // where it ended, and the state must be that one. A change that can't be written is refused with
  // the journal's error. Null: stop. Errors: kFailedPrecondition (not empty, or as in Save), and
  // those of the journal; then the former one stays.
  absl::Status SetJournal(std::unique_ptr<Journal> journal, RecordWriter writer = {});

  // The whole state as bytes: a journal of one record. Errors: kFailedPrecondition as in
  // TakeSnapshot.
  absl::StatusOr<std::string> Save() const;
  // The engine that was saved. Errors: kDataLoss for bytes that are cut or damaged,
  // kInvalidArgument for what is no journal or one of another version.
  static absl::StatusOr<Engine> Load(std::string_view bytes, EnginePolicies policies = {});

  // An engine of its own in the same state, without journal.
  absl::StatusOr<Engine> Fork() const;

 private:
  friend class Replay;

  Engine(EngineSettings settings, EnginePolicies policies, ClusterState state)
      : settings_(settings), policies_(std::move(policies)), state_(std::move(state)) {}

  absl::Status MakePlacer();
  absl::Status Record(RecordKind kind, std::string_view payload);
  // The payload of a snapshot record, and back.
  absl::StatusOr<std::string> Snapshot() const;
  static absl::StatusOr<Engine> FromSnapshot(std::string_view payload, EnginePolicies policies);

  EngineSettings settings_;
  EnginePolicies policies_;
  ClusterState state_;
  std::unique_ptr<Placer> placer_;
  std::uint64_t version_ = 0;
  std::uint64_t searches_ = 0;
  std::unique_ptr<Journal> journal_;
  RecordWriter writer_;
};

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_ENGINE_H_
