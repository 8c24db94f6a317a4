#include "gpusched/engine/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/cycle.h"
#include "engine/lifecycle.h"
#include "gpusched/engine/restore.h"
#include "gpusched/journal/commit_record.h"
#include "gpusched/journal/snapshot_codec.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/snapshot.h"
#include "gpusched/state/state_hash.h"

namespace gpusched {

template <>
inline constexpr std::size_t kMembers<EngineSettings> = 4;

namespace {

absl::Status NoSuchJob(std::string_view name) {
  return FieldError(absl::StatusCode::kNotFound, "job", "name", Quoted(name),
                    "no job of this name is live");
}

}  // namespace

absl::StatusOr<Engine> Engine::Create(EngineSettings settings, EnginePolicies policies,
                                      ModelCatalog catalog) {
  GPUSCHED_RETURN_IF_ERROR(Validate(settings));
  Engine engine(settings, std::move(policies), ClusterState(std::move(catalog)));
  GPUSCHED_RETURN_IF_ERROR(engine.MakePlacer());
  return engine;
}

absl::Status Engine::MakePlacer() {
  if (!policies_.placer) policies_.placer = PlacerOf(BestFit{});
  absl::StatusOr<std::unique_ptr<Placer>> placer = policies_.placer(state_);
  if (!placer.ok()) return placer.status();
  if (*placer == nullptr) return absl::InvalidArgumentError("the placer's factory gave none");
  placer_ = *std::move(placer);
  return absl::OkStatus();
}

absl::StatusOr<Effect> Engine::Apply(const Event& event) {
  Transaction transaction(state_);
  Lifecycle lifecycle(state_, transaction, settings_);
  GPUSCHED_RETURN_IF_ERROR(lifecycle.Apply(event));
  Effect effect = lifecycle.TakeEffect();
  if (!effect.changed) return effect;
  GPUSCHED_RETURN_IF_ERROR(Record(RecordKind::kEvent, Encode(event)));
  transaction.Commit();
  ++version_;
  return effect;
}

absl::StatusOr<Plan> Engine::Decide(Time now) {
  Transaction transaction(state_);
  Lifecycle lifecycle(state_, transaction, settings_);
  GPUSCHED_RETURN_IF_ERROR(lifecycle.AdvanceTo(now));
  Cycle cycle(state_, transaction, settings_, *placer_, policies_.order, searches_);
  GPUSCHED_RETURN_IF_ERROR(cycle.Run());
  return Plan(now, version_, cycle.searches(), std::move(cycle.steps()));
}

absl::StatusOr<Effect> Engine::Commit(const Plan& plan) {
  if (plan.version() != version_) {
    return absl::FailedPreconditionError(absl::StrCat("this plan was made for version ",
                                                      plan.version(), " of the state, which is at ",
                                                      version_, " now; decide again"));
  }
  Transaction transaction(state_);
  Lifecycle lifecycle(state_, transaction, settings_);
  GPUSCHED_RETURN_IF_ERROR(lifecycle.AdvanceTo(plan.now()));
  GPUSCHED_RETURN_IF_ERROR(lifecycle.ApplyPlan(plan));
  Effect effect = lifecycle.TakeEffect();
  // The count of searches is part of what the next decision depends on.
  effect.changed = effect.changed || plan.searches() > 0;
  if (!effect.changed) {
    effect.note = "the plan does nothing";
    return effect;
  }
  GPUSCHED_RETURN_IF_ERROR(Record(RecordKind::kCommit, EncodeCommit(plan)));
  transaction.Commit();
  ++version_;
  searches_ += plan.searches();
  return effect;
}

absl::StatusOr<Effect> Engine::Abort(const Plan& plan) {
  Transaction transaction(state_);
  Lifecycle lifecycle(state_, transaction, settings_);
  GPUSCHED_RETURN_IF_ERROR(lifecycle.AbortPlan(plan));
  Effect effect = lifecycle.TakeEffect();
  if (!effect.changed) return effect;
  GPUSCHED_RETURN_IF_ERROR(Record(RecordKind::kAbort, Encode(WithoutWaits(plan))));
  transaction.Commit();
  ++version_;
  return effect;
}

absl::StatusOr<JobAccount> Engine::Explain(std::string_view job) {
  const auto id = state_.FindJob(job);
  if (!id) return NoSuchJob(job);
  Transaction transaction(state_);
  Lifecycle lifecycle(state_, transaction, settings_);
  GPUSCHED_RETURN_IF_ERROR(lifecycle.AdvanceTo(state_.now()));
  Cycle cycle(state_, transaction, settings_, *placer_, policies_.order, searches_);
  cycle.AccountFor(*id);
  GPUSCHED_RETURN_IF_ERROR(cycle.Run());
  JobAccount account = std::move(cycle.account());
  if (!account.waits()) account.groups.clear();
  account.text = AccountText(account);
  return account;
}

std::vector<JobStatus> Engine::Jobs() const {
  std::vector<JobStatus> jobs;
  for (const JobId job : JobsInOrder(state_, policies_.order)) {
    jobs.push_back(StatusOf(state_, job));
  }
  return jobs;
}

absl::StatusOr<JobStatus> Engine::Job(std::string_view name) const {
  const auto job = state_.FindJob(name);
  if (!job) return NoSuchJob(name);
  return StatusOf(state_, *job);
}

absl::Status Engine::Record(RecordKind kind, std::string_view payload) {
  if (journal_ == nullptr) return absl::OkStatus();
  GPUSCHED_RETURN_IF_ERROR(journal_->Append(writer_.Frame(kind, payload)));
  writer_.Accept();
  return absl::OkStatus();
}

absl::Status Engine::SetJournal(std::unique_ptr<Journal> journal, RecordWriter writer) {
  if (journal == nullptr) {
    journal_ = nullptr;
    return absl::OkStatus();
  }
  if (writer.chain() == 0) {
    // A second beginning in the middle of a file makes what comes before it all that can be read.
    if (!journal->empty()) {
      return absl::FailedPreconditionError(
          "the journal is not empty, and the writer is that of a new one; use an empty journal, or "
          "restore from this one and pass the writer that comes with it");
    }
    const absl::StatusOr<std::string> snapshot = Snapshot();
    if (!snapshot.ok()) return snapshot.status();
    GPUSCHED_RETURN_IF_ERROR(journal->Append(writer.Frame(RecordKind::kSnapshot, *snapshot)));
    writer.Accept();
  }
  journal_ = std::move(journal);
  writer_ = writer;
  return absl::OkStatus();
}

absl::StatusOr<std::string> Engine::Snapshot() const {
  const absl::StatusOr<StateSnapshot> state = TakeSnapshot(state_);
  if (!state.ok()) return state.status();
  ByteWriter out;
  Write(out, settings_);
  Write(out, version_);
  Write(out, searches_);
  out.Fixed64(StateHash(state_));
  Write(out, *state);
  return out.Take();
}

absl::StatusOr<Engine> Engine::FromSnapshot(std::string_view payload, EnginePolicies policies) {
  ByteReader in(payload);
  EngineSettings settings;
  std::uint64_t version = 0, searches = 0, hash = 0;
  StateSnapshot snapshot;
  if (!Read(in, settings) || !Read(in, version) || !Read(in, searches) || !in.Fixed64(hash) ||
      !Read(in, snapshot) || !in.AtEnd()) {
    return absl::DataLossError(
        absl::StrCat("the snapshot makes no sense at byte ", in.position(), " of it"));
  }
  GPUSCHED_RETURN_IF_ERROR(Validate(settings));
  absl::StatusOr<ClusterState> state = BuildState(snapshot);
  if (!state.ok()) {
    return absl::DataLossError(absl::StrCat("the snapshot's parts do not go together: ",
                                            std::string(state.status().message())));
  }
  if (StateHash(*state) != hash) {
    return absl::DataLossError("the snapshot's state is not the one that was saved");
  }
  Engine engine(settings, std::move(policies), *std::move(state));
  engine.version_ = version;
  engine.searches_ = searches;
  GPUSCHED_RETURN_IF_ERROR(engine.MakePlacer());
  return engine;
}

absl::StatusOr<std::string> Engine::Save() const {
  const absl::StatusOr<std::string> snapshot = Snapshot();
  if (!snapshot.ok()) return snapshot.status();
  return RecordWriter().Frame(RecordKind::kSnapshot, *snapshot);
}

absl::StatusOr<Engine> Engine::Load(std::string_view bytes, EnginePolicies policies) {
  absl::StatusOr<Restored> restored = Restore(bytes, std::move(policies));
  if (!restored.ok()) return restored.status();
  if (!restored->report.problem.empty()) return absl::DataLossError(restored->report.problem);
  return std::move(restored->engine);
}

absl::StatusOr<Engine> Engine::Fork() const {
  absl::StatusOr<ClusterState> state = state_.Fork();
  if (!state.ok()) return state.status();
  Engine engine(settings_, policies_, *std::move(state));
  engine.version_ = version_;
  engine.searches_ = searches_;
  engine.placer_ = placer_->Clone();
  return engine;
}

}  // namespace gpusched
