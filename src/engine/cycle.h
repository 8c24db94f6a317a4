// Cycle: one round of decisions, tried out on an open transaction.
#ifndef GPUSCHED_SRC_ENGINE_CYCLE_H_
#define GPUSCHED_SRC_ENGINE_CYCLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/gang_search.h"
#include "engine/lifecycle.h"
#include "gpusched/decision/plan.h"
#include "gpusched/engine/account.h"
#include "gpusched/engine/placer.h"
#include "gpusched/engine/settings.h"
#include "gpusched/policy/priority/job_order.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"

namespace gpusched {

// Live jobs in the order in which they are served.
std::vector<JobId> JobsInOrder(const ClusterState& state, const AnyJobOrder& order);

// Decides for the state's present time. The transaction holds the outcome afterwards; the caller
// drops it.
class Cycle {
 public:
  Cycle(const ClusterState& state, Transaction& transaction, const EngineSettings& settings,
        Placer& placer, const AnyJobOrder& order, std::uint64_t first_search)
      : state_(state),
        transaction_(transaction),
        lifecycle_(state, transaction, settings),
        settings_(settings),
        placer_(placer),
        order_(order),
        first_search_(first_search),
        next_search_(first_search) {}

  // Also gathers the full account of this job.
  void AccountFor(JobId job);

  absl::Status Run();

  std::vector<Step>& steps() { return steps_; }
  std::uint64_t searches() const { return next_search_ - first_search_; }
  JobAccount& account() { return account_; }

 private:
  // Why a job, or the rest of it, found no place.
  struct Failure {
    Outcome outcome = Outcome::kWait;
    WaitReason why;
    bool for_room = true;  // rather than for somebody or something
    std::string job;       // whose group it is, if `why` names one
  };
  // A shape that found no place, when nothing of its job was placed yet. Room only shrinks in a
  // cycle, so it will not find one later; the refusal is right until the next placement.
  struct FailedShape {
    ShapeId shape;
    ModelMask models;
    Refusal refusal;
    std::size_t placements;
  };
  // A waiting job that keeps others off a pool.
  struct Blocker {
    ModelMask models = 0;
    bool cpu_only = false;
    std::string job;
  };

  const JobRow& Row(JobId job) const { return state_.jobs()[job.slot]; }
  absl::Status EvictWhatMustGo(JobId job);
  bool WaitsForJobGroup(const JobRow& row) const;
  // Jobs that are placed together with this one; itself alone as a rule. Empty: not all are there.
  std::vector<JobId> UnitOf(JobId job) const;
  absl::Status Serve(JobId job);
  absl::Status ServeUnit(const std::vector<JobId>& jobs);
  absl::Status ServeRest(JobId job);

  // One task beyond the minimum. No failure: it is placed.
  absl::StatusOr<std::optional<Failure>> TryTask(const TaskIndex& task);
  // One way to place the minimum of all jobs of a unit. No failure: the placements are made.
  absl::StatusOr<std::optional<Failure>> TryAlternative(const std::vector<JobId>& jobs,
                                                        SearchBudget& budget);
  absl::StatusOr<std::optional<Failure>> TryModels(
      const std::vector<JobId>& jobs, const std::vector<std::vector<ModelMask>>& choices,
      std::vector<ModelMask>& models, SearchBudget& budget);
  absl::StatusOr<std::optional<Failure>> TryDemands(const std::vector<Demand>& demands,
                                                    SearchBudget& budget);
  absl::Status Place(const std::vector<Demand>& demands, std::vector<GangPlacement> placements);
  // Models on which a homogeneous job may go, best first.
  absl::StatusOr<std::vector<ModelMask>> ModelsFor(JobId job, SearchBudget& budget);
  std::optional<ModelMask> ModelInUse(JobId job) const;

  // Sets the demand's shape, on the models that are open to the job; false: none is, and `failure`
  // says why.
  bool Restrict(Demand& demand, ModelMask models, Failure& failure) const;
  void Block(const std::vector<JobId>& jobs);

  bool OwnsHold(JobId job) const;
  // The refusal of a shape that can't find a place in this cycle any more; null: not known.
  const Refusal* FindFailed(const Demand& demand);
  void Answer(JobId job, const Failure& failure);
  // A reason that is neither about room nor about numbers.
  void AnswerReason(JobId job, Reason reason);
  Failure Explain(const std::vector<Demand>& demands, std::size_t failing,
                  const GangResult& result);
  absl::Status NotePlaced(JobId job);
  // How many tasks of the demand the cluster could hold if it were empty.
  std::int64_t Bound(const Demand& demand) const;
  // Whether together they ask more of some resource than the whole cluster has.
  bool TooMuchInAll(const std::vector<Demand>& demands) const;

  const ClusterState& state_;
  Transaction& transaction_;
  Lifecycle lifecycle_;
  const EngineSettings& settings_;
  Placer& placer_;
  const AnyJobOrder& order_;
  std::uint64_t first_search_;
  std::uint64_t next_search_;

  std::vector<Step> steps_;
  std::vector<JobId> jobs_;              // in order
  std::vector<std::uint32_t> position_;  // of each node slot in node order
  std::vector<std::uint8_t> served_;     // by job slot
  std::vector<Blocker> blockers_;
  std::vector<FailedShape> failed_;
  std::vector<std::string> hold_owners_;  // at the start
  std::size_t placements_ = 0;
  JobId account_for_;
  bool accounting_ = false;  // that job is being served
  JobAccount account_;
};

}  // namespace gpusched

#endif  // GPUSCHED_SRC_ENGINE_CYCLE_H_
