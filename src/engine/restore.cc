#include "gpusched/engine/restore.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpusched/journal/codec.h"
#include "gpusched/journal/commit_record.h"

namespace gpusched {

// Applies records one after the other.
class Replay {
 public:
  Replay(EnginePolicies policies, ReplayMode mode) : policies_(std::move(policies)), mode_(mode) {}

  absl::Status Apply(const Record& record) {
    switch (record.kind) {
      case RecordKind::kSnapshot: {
        absl::StatusOr<Engine> engine = Engine::FromSnapshot(record.payload, policies_);
        if (!engine.ok()) return engine.status();
        engine_.emplace(*std::move(engine));
        return absl::OkStatus();
      }
      case RecordKind::kEvent: {
        const absl::StatusOr<Event> event = DecodeEvent(record.payload);
        if (!event.ok()) return event.status();
        return Changed(engine_->Apply(*event));
      }
      case RecordKind::kCommit:
        return Commit(record.payload);
      case RecordKind::kAbort: {
        const absl::StatusOr<Plan> plan = DecodePlan(record.payload);
        if (!plan.ok()) return plan.status();
        return Changed(engine_->Abort(*plan));
      }
    }
    return absl::DataLossError("its kind is not known");
  }

  bool begun() const { return engine_.has_value(); }
  Engine Take() { return *std::move(engine_); }

 private:
  // Only what changed something was written down.
  static absl::Status Changed(const absl::StatusOr<Effect>& effect) {
    if (!effect.ok()) return effect.status();
    if (effect->changed) return absl::OkStatus();
    return absl::DataLossError("it changes nothing: the state is not the one it was written for");
  }

  absl::Status Commit(std::string_view payload) {
    const absl::StatusOr<CommitRecord> record = DecodeCommit(payload);
    if (!record.ok()) return record.status();
    if (mode_ == ReplayMode::kVerify) {
      const absl::StatusOr<Plan> plan = engine_->Decide(record->plan.now());
      if (!plan.ok()) return plan.status();
      if (PlanDigest(*plan) != record->digest) {
        return absl::DataLossError("the plan that is decided now is another one");
      }
    }
    return Changed(engine_->Commit(record->plan));
  }

  EnginePolicies policies_;
  ReplayMode mode_;
  std::optional<Engine> engine_;
};

absl::StatusOr<Restored> Restore(std::string_view journal, EnginePolicies policies,
                                 ReplayMode mode) {
  absl::StatusOr<Recovered> recovered = Recover(journal);
  if (!recovered.ok()) return recovered.status();
  if (recovered->records.empty()) {
    if (!recovered->problem.empty()) return absl::DataLossError(recovered->problem);
    return absl::InvalidArgumentError("the journal is empty; a journal begins with a snapshot");
  }
  if (recovered->records.front().kind != RecordKind::kSnapshot) {
    return absl::InvalidArgumentError("the journal does not begin with a snapshot");
  }
  RestoreReport report{.valid_bytes = recovered->valid_bytes,
                       .total_bytes = journal.size(),
                       .problem = recovered->problem,
                       .end = recovered->end};
  RecordWriter writer = recovered->Continue();
  Replay replay(std::move(policies), mode);
  for (std::size_t i = 0; i < recovered->records.size(); ++i) {
    const Record& record = recovered->records[i];
    if (absl::Status status = replay.Apply(record); !status.ok()) {
      if (!replay.begun()) return status;
      report.problem =
          absl::StrCat("record ", i + 1, " (", std::string(RecordKindName(record.kind)),
                       ") at byte ", record.at, " does not apply: ", std::string(status.message()));
      report.valid_bytes = record.at;
      report.end = JournalEnd::kDoesNotApply;
      // The chain up to here: what comes before is a journal of its own.
      absl::StatusOr<Recovered> prefix = Recover(journal.substr(0, record.at));
      if (!prefix.ok()) return prefix.status();
      writer = prefix->Continue();
      break;
    }
    ++report.records;
    report.plans += record.kind == RecordKind::kCommit ? 1 : 0;
  }
  return Restored{.engine = replay.Take(), .report = std::move(report), .writer = writer};
}

}  // namespace gpusched
