#include "engine/cycle.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpusched/engine/explain.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// The tasks that an alternative must place together.
std::int64_t MinimumOf(const JobSpec& job, std::size_t alternative) {
  std::int64_t minimum = 0;
  for (const TaskGroupSpec& group : job.Alternative(alternative)) {
    minimum += MinAvailable(group, job.kind);
  }
  return minimum;
}

bool WantsMore(const JobRow& job) {
  return std::any_of(job.groups.begin(), job.groups.end(), [](const GroupState& group) {
    return group.wanted_in(TaskPhase::kPending) > 0 || group.missing() > 0;
  });
}

}  // namespace

std::vector<JobId> JobsInOrder(const ClusterState& state, const AnyJobOrder& order) {
  struct Entry {
    JobKey key;
    std::uint64_t sequence;
    JobId job;
  };
  std::vector<Entry> entries;
  entries.reserve(state.jobs().size());
  const StateView view(state);
  for (std::uint32_t slot = 0; slot < state.jobs().slots(); ++slot) {
    if (!state.jobs().live(slot)) continue;
    const JobRow& row = state.jobs()[slot];
    entries.push_back({order(view, row), row.sequence, state.jobs().id(slot)});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.key, a.sequence) < std::tie(b.key, b.sequence);
  });
  std::vector<JobId> jobs;
  jobs.reserve(entries.size());
  for (const Entry& entry : entries) jobs.push_back(entry.job);
  return jobs;
}

void Cycle::AccountFor(JobId job) {
  account_for_ = job;
  account_.job = Row(job).spec.name;
}

absl::Status Cycle::Run() {
  const auto order = state_.nodes().order();
  position_.assign(state_.nodes().slots(), 0);
  for (std::uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
  served_.assign(state_.jobs().slots(), 0);
  for (const Hold& hold : state_.holds().list()) hold_owners_.push_back(hold.owner);

  jobs_ = JobsInOrder(state_, order_);
  for (const JobId job : jobs_) GPUSCHED_RETURN_IF_ERROR(EvictWhatMustGo(job));
  for (const JobId job : jobs_) GPUSCHED_RETURN_IF_ERROR(Serve(job));
  return absl::OkStatus();
}

absl::Status Cycle::EvictWhatMustGo(JobId job) {
  const JobRow& row = Row(job);
  std::optional<EvictCause> all = row.header.ending;
  if (!all && row.header.repair_deadline <= state_.now()) all = EvictCause::kGangNotWhole;
  for (std::uint32_t g = 0; g < row.groups.size(); ++g) {
    const GroupState& group = row.groups[g];
    if (!all && group.surplus_placed == 0) continue;
    for (std::uint32_t i = 0; i < group.tasks.size(); ++i) {
      const TaskPhase phase = group.tasks[i].phase;
      if (phase != TaskPhase::kAssumed && phase != TaskPhase::kRunning) continue;
      if (!all && i < group.count) continue;
      const TaskIndex task{.job = job, .group = g, .index = i};
      const EvictCause cause = all.value_or(EvictCause::kScaledDown);
      steps_.emplace_back(
          Evict{.task = lifecycle_.KeyOf(task), .node = lifecycle_.NodeOf(task), .cause = cause});
      GPUSCHED_RETURN_IF_ERROR(lifecycle_.MarkEvicting(task, cause));
    }
  }
  return absl::OkStatus();
}

bool Cycle::WaitsForJobGroup(const JobRow& row) const {
  return row.spec.co_schedule && !lifecycle_.JobGroupStarted(row.spec.co_schedule->group);
}

std::vector<JobId> Cycle::UnitOf(JobId job) const {
  const JobRow& row = Row(job);
  if (!WaitsForJobGroup(row)) return {job};
  std::vector<JobId> unit;
  for (const JobId other : jobs_) {
    const JobRow& member = Row(other);
    if (member.spec.co_schedule && !member.header.ending &&
        member.spec.co_schedule->group == row.spec.co_schedule->group) {
      unit.push_back(other);
    }
  }
  return unit;
}

absl::Status Cycle::Serve(JobId job) {
  if (served_[job.slot] != 0) return absl::OkStatus();
  const JobRow& row = Row(job);
  served_[job.slot] = 1;
  if (row.header.ending) return absl::OkStatus();
  // Also when all that it still holds was being evicted before its time was up.
  if (row.header.releasing || row.header.repair_deadline <= state_.now()) {
    const bool wants = std::any_of(row.groups.begin(), row.groups.end(), [](const GroupState& g) {
      return g.wanted_in(TaskPhase::kPending) + g.wanted_in(TaskPhase::kEvicting) > 0;
    });
    if (wants) AnswerReason(job, Reason::kBeingReleased);
    return absl::OkStatus();
  }
  if (!WantsMore(row)) return absl::OkStatus();
  const std::vector<JobId> unit = UnitOf(job);
  if (WaitsForJobGroup(row) && std::ssize(unit) < row.spec.co_schedule->size) {
    Failure failure{.outcome = Outcome::kWait, .why = {}, .for_room = false, .job = {}};
    failure.why.reason = Reason::kJobGroupIncomplete;
    failure.why.subject = row.spec.co_schedule->group;
    failure.why.need = row.spec.co_schedule->size;
    failure.why.have = std::ssize(unit);
    Answer(job, failure);
    return absl::OkStatus();
  }
  for (const JobId member : unit) served_[member.slot] = 1;
  accounting_ = std::find(unit.begin(), unit.end(), account_for_) != unit.end();
  absl::Status status = ServeUnit(unit);
  accounting_ = false;
  return status;
}

absl::Status Cycle::ServeUnit(const std::vector<JobId>& jobs) {
  const Transaction::Mark mark = transaction_.mark();
  const std::size_t steps = steps_.size();
  bool minimum = WaitsForJobGroup(Row(jobs.front()));
  std::size_t alternatives = 1;
  for (const JobId job : jobs) {
    minimum = minimum || Row(job).missing() > 0;
    if (Row(job).bound()) continue;
    alternatives = std::max(alternatives, Row(job).spec.alternatives.size() + 1);
  }
  if (!minimum) return ServeRest(jobs.front());

  std::optional<Failure> worst;
  SearchBudget budget{
      .next = next_search_,
      .end = next_search_ + static_cast<std::uint64_t>(settings_.gang_search_limit)};
  for (std::size_t alternative = 0; alternative < alternatives; ++alternative) {
    std::vector<JobId> placing;  // without those of a job group that ask nothing
    for (const JobId job : jobs) {
      const auto which =
          static_cast<std::uint32_t>(std::min(alternative, Row(job).spec.alternatives.size()));
      // To place nothing is no way to do with less.
      if (alternatives > 1 && MinimumOf(Row(job).spec, which) > 0) {
        GPUSCHED_RETURN_IF_ERROR(transaction_.SetAlternative(job, which));
      }
      if (Row(job).missing() == 0) continue;
      placing.push_back(job);
      GPUSCHED_RETURN_IF_ERROR(lifecycle_.DropHoldsOf(Row(job).spec.name));
    }
    const auto failure = TryAlternative(jobs, budget);
    next_search_ = budget.next;
    if (!failure.ok()) return failure.status();
    if (!*failure) {
      for (const JobId job : placing) GPUSCHED_RETURN_IF_ERROR(NotePlaced(job));
      for (const JobId job : jobs) GPUSCHED_RETURN_IF_ERROR(ServeRest(job));
      return absl::OkStatus();
    }
    transaction_.RollbackTo(mark);
    steps_.resize(steps);
    // The first that only has to wait is what the job waits for.
    if (!worst || (worst->outcome == Outcome::kNever && (*failure)->outcome != Outcome::kNever)) {
      worst = **failure;
    }
  }
  for (const JobId job : jobs) {
    if (WantsMore(Row(job))) Answer(job, *worst);
  }
  if (worst->for_room && worst->outcome == Outcome::kWait) Block(jobs);
  return absl::OkStatus();
}

absl::Status Cycle::NotePlaced(JobId job) {
  // What it held and did not use is open to others now.
  if (OwnsHold(job)) failed_.clear();
  return lifecycle_.FinishPlacing(job);
}

absl::Status Cycle::ServeRest(JobId job) {
  const Transaction::Mark mark = transaction_.mark();
  const std::size_t placed_before = placements_;
  std::optional<Failure> failure;
  for (std::uint32_t g = 0; g < Row(job).groups.size(); ++g) {
    if (Row(job).groups[g].wanted_in(TaskPhase::kPending) == 0) continue;
    if (placements_ == placed_before) {
      GPUSCHED_RETURN_IF_ERROR(lifecycle_.DropHoldsOf(Row(job).spec.name));
    }
    for (const std::uint32_t index : Row(job).groups[g].Pending(Row(job).groups[g].count)) {
      auto why = TryTask({.job = job, .group = g, .index = index});
      if (!why.ok()) return why.status();
      if (!*why) continue;
      if (!failure) failure = *std::move(why);
      break;
    }
  }
  if (placements_ > placed_before) {
    GPUSCHED_RETURN_IF_ERROR(NotePlaced(job));
  } else {
    transaction_.RollbackTo(mark);
  }
  if (failure) Answer(job, *failure);
  return absl::OkStatus();
}

}  // namespace gpusched
