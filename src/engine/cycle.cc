#include "engine/cycle.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpusched/engine/explain.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

std::int64_t MissingOf(const JobRow& job) {
  std::int64_t missing = 0;
  for (const GroupState& group : job.groups) missing += group.missing();
  return missing;
}

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

// The first `count` pending tasks that are wanted.
std::vector<std::uint32_t> PendingTasks(const GroupState& group, std::int64_t count) {
  std::vector<std::uint32_t> pending;
  for (std::uint32_t i = 0; i < group.count && std::ssize(pending) < count; ++i) {
    if (group.tasks[i].phase == TaskPhase::kPending) pending.push_back(i);
  }
  return pending;
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
      steps_.push_back(
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
    Failure failure{.outcome = Outcome::kWait, .why = {}, .for_room = false};
    failure.why.reason = Reason::kJobGroupIncomplete;
    failure.why.subject = row.spec.co_schedule->group;
    failure.why.need = row.spec.co_schedule->size;
    failure.why.have = std::ssize(unit);
    Answer(job, failure);
    return absl::OkStatus();
  }
  for (const JobId member : unit) served_[member.slot] = 1;
  accounting_ = std::find(unit.begin(), unit.end(), account_for_) != unit.end();
  const absl::Status status = ServeUnit(unit);
  accounting_ = false;
  return status;
}

absl::Status Cycle::ServeUnit(const std::vector<JobId>& jobs) {
  const Transaction::Mark mark = transaction_.mark();
  const std::size_t steps = steps_.size();
  bool minimum = WaitsForJobGroup(Row(jobs.front()));
  std::size_t alternatives = 1;
  for (const JobId job : jobs) {
    minimum = minimum || MissingOf(Row(job)) > 0;
    if (Row(job).bound()) continue;
    alternatives = std::max(alternatives, Row(job).spec.alternatives.size() + 1);
  }
  if (!minimum) return ServeRest(jobs.front());

  std::optional<Failure> worst;
  for (std::size_t alternative = 0; alternative < alternatives; ++alternative) {
    std::vector<JobId> placing;  // without those of a job group that ask nothing
    for (const JobId job : jobs) {
      const auto which =
          static_cast<std::uint32_t>(std::min(alternative, Row(job).spec.alternatives.size()));
      // To place nothing is no way to do with less.
      if (alternatives > 1 && MinimumOf(Row(job).spec, which) > 0) {
        GPUSCHED_RETURN_IF_ERROR(transaction_.SetAlternative(job, which));
      }
      if (MissingOf(Row(job)) == 0) continue;
      placing.push_back(job);
      GPUSCHED_RETURN_IF_ERROR(lifecycle_.DropHoldsOf(Row(job).spec.name));
    }
    const auto failure = TryAlternative(jobs);
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

absl::StatusOr<std::optional<Cycle::Failure>> Cycle::TryTask(const TaskIndex& task) {
  SearchBudget budget{
      .next = next_search_,
      .end = next_search_ + static_cast<std::uint64_t>(settings_.gang_search_limit)};
  std::vector<ModelMask> choices = {kAnyModel};
  if (Row(task.job).spec.homogeneous) {
    auto found = ModelsFor(task.job, budget);
    if (!found.ok()) return found.status();
    choices = *std::move(found);
  }
  std::optional<Failure> first;
  for (const ModelMask model : choices) {
    Demand demand{.job = task.job,
                  .group = task.group,
                  .shape_id = Row(task.job).groups[task.group].shape,
                  .shape = {},
                  .indices = {task.index},
                  .blocked_by = {}};
    Failure behind;
    absl::StatusOr<std::optional<Failure>> failure = std::optional<Failure>();
    if (Restrict(demand, model, behind)) {
      failure = TryDemands({demand}, budget);
    } else {
      failure = std::optional<Failure>(behind);
    }
    next_search_ = budget.next;
    if (!failure.ok() || !*failure) return failure;
    if (!first || (first->outcome == Outcome::kNever && (*failure)->outcome != Outcome::kNever)) {
      first = **failure;
    }
  }
  return first;
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
    for (const std::uint32_t index : PendingTasks(Row(job).groups[g], Row(job).groups[g].count)) {
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

absl::StatusOr<std::optional<Cycle::Failure>> Cycle::TryAlternative(
    const std::vector<JobId>& jobs) {
  SearchBudget budget{
      .next = next_search_,
      .end = next_search_ + static_cast<std::uint64_t>(settings_.gang_search_limit)};
  std::vector<ModelMask> models;
  auto failure = TryModels(jobs, 0, models, budget);
  next_search_ = budget.next;
  return failure;
}

absl::StatusOr<std::optional<Cycle::Failure>> Cycle::TryModels(const std::vector<JobId>& jobs,
                                                               std::size_t next,
                                                               std::vector<ModelMask>& models,
                                                               SearchBudget& budget) {
  if (next < jobs.size()) {
    std::vector<ModelMask> choices = {kAnyModel};
    if (Row(jobs[next]).spec.homogeneous) {
      auto found = ModelsFor(jobs[next], budget);
      if (!found.ok()) return found.status();
      choices = *std::move(found);
    }
    std::optional<Failure> first;
    for (const ModelMask model : choices) {
      models.push_back(model);
      auto failure = TryModels(jobs, next + 1, models, budget);
      models.pop_back();
      if (!failure.ok() || !*failure) return failure;
      if (!first || (first->outcome == Outcome::kNever && (*failure)->outcome != Outcome::kNever)) {
        first = **failure;
      }
    }
    return first;
  }
  std::vector<Demand> demands;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobRow& row = Row(jobs[j]);
    for (std::uint32_t g = 0; g < row.groups.size(); ++g) {
      if (row.groups[g].missing() == 0) continue;
      Demand demand{.job = jobs[j],
                    .group = g,
                    .shape_id = row.groups[g].shape,
                    .shape = {},
                    .indices = PendingTasks(row.groups[g], row.groups[g].missing()),
                    .blocked_by = {}};
      Failure failure;
      if (!Restrict(demand, models[j], failure)) return std::optional<Failure>(failure);
      if (std::ssize(demand.indices) < row.groups[g].missing()) {
        // Some of the minimum is being evicted; it comes back when that is over.
        failure = {.outcome = Outcome::kWait, .why = {}, .for_room = false};
        failure.why.reason = Reason::kBeingReleased;
        return std::optional<Failure>(failure);
      }
      demands.push_back(std::move(demand));
    }
  }
  std::stable_sort(demands.begin(), demands.end(), IsLarger);
  return TryDemands(demands, budget);
}

absl::StatusOr<std::optional<Cycle::Failure>> Cycle::TryDemands(const std::vector<Demand>& demands,
                                                                SearchBudget& budget) {
  for (std::size_t i = 0; i < demands.size(); ++i) {
    if (const Refusal* known = FindFailed(demands[i])) {
      GangResult none;
      none.refusal = *known;
      return std::optional<Failure>(Explain(demands, i, none));
    }
  }
  auto result = SearchGang(state_, transaction_, placer_, demands, budget);
  if (!result.ok()) return result.status();
  if (result->found) {
    GPUSCHED_RETURN_IF_ERROR(Place(demands, std::move(result->placements)));
    return std::optional<Failure>();
  }
  const Demand& failing = demands[result->failing];
  if (result->placed_of_all == 0 && !result->limit_reached &&
      !JobFilter(state_, failing.job, failing.group).asks()) {
    failed_.push_back({.shape = failing.shape_id,
                       .models = failing.shape.models,
                       .refusal = result->refusal,
                       .placements = placements_});
  }
  return std::optional<Failure>(Explain(demands, result->failing, *result));
}

absl::Status Cycle::Place(const std::vector<Demand>& demands,
                          std::vector<GangPlacement> placements) {
  // Neighbours get neighbouring numbers.
  std::sort(placements.begin(), placements.end(),
            [&](const GangPlacement& a, const GangPlacement& b) {
              const auto key = [&](const GangPlacement& p) {
                const int device = p.placement.devices.empty() ? -1 : p.placement.devices.First();
                return std::make_tuple(p.demand, position_[p.placement.node.slot], device);
              };
              return key(a) < key(b);
            });
  std::size_t next = 0;
  for (std::uint32_t d = 0; d < demands.size(); ++d) {
    const Demand& demand = demands[d];
    const JobRow& row = Row(demand.job);
    std::int64_t first_rank = 0;
    for (std::uint32_t g = 0; g < demand.group; ++g) first_rank += row.groups[g].count;
    for (const std::uint32_t index : demand.indices) {
      const GangPlacement& placement = placements[next++];
      const TaskIndex task{.job = demand.job, .group = demand.group, .index = index};
      steps_.push_back(
          gpusched::Place{.task = lifecycle_.KeyOf(task),
                          .node = std::string(state_.node_name(placement.placement.node)),
                          .devices = placement.placement.devices,
                          .alternative = row.alternative,
                          .rank = first_rank + index,
                          .score = placement.score});
      GPUSCHED_RETURN_IF_ERROR(lifecycle_.PlaceTask(task, placement.placement, state_.now()));
      ++placements_;
    }
  }
  return absl::OkStatus();
}

std::optional<ModelMask> Cycle::ModelInUse(JobId job) const {
  for (const GroupState& group : Row(job).groups) {
    for (const TaskState& task : group.tasks) {
      if (!IsPlaced(task.phase) || !task.ledger.has_value()) continue;
      const Placement& placement = state_.tasks()[task.ledger.slot].placement;
      if (placement.devices.empty()) continue;
      const auto devices = state_.nodes().device_free(placement.node.slot);
      return ModelMask{1} << devices[static_cast<std::size_t>(placement.devices.First())].model;
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<ModelMask>> Cycle::ModelsFor(JobId job, SearchBudget& budget) {
  const JobRow& row = Row(job);
  ModelMask allowed = kAnyModel;
  std::uint32_t largest = 0;
  bool asks = false;
  for (std::uint32_t g = 0; g < row.groups.size(); ++g) {
    const Shape& shape = state_.shapes()[row.groups[g].shape];
    if (!shape.asks_gpu() || row.groups[g].count == 0) continue;
    allowed &= shape.models;
    if (!asks ||
        shape.gpu_milli_total() > state_.shapes()[row.groups[largest].shape].gpu_milli_total()) {
      largest = g;
    }
    asks = true;
  }
  if (!asks) return std::vector<ModelMask>{kAnyModel};
  if (const auto used = ModelInUse(job)) return std::vector<ModelMask>{*used};
  ModelMask there = 0;
  for (const std::uint32_t slot : state_.nodes().order()) there |= state_.nodes().models(slot);
  std::vector<std::uint32_t> models;
  for (std::uint32_t m = 0; m < state_.models().size(); ++m) {
    if (((there & allowed) >> m) & 1) models.push_back(m);
  }
  std::sort(models.begin(), models.end(), [&](std::uint32_t a, std::uint32_t b) {
    return state_.models().name(a) < state_.models().name(b);
  });
  // Without any, the search says why.
  if (models.empty()) return std::vector<ModelMask>{allowed};
  Shape shape = state_.shapes()[row.groups[largest].shape];
  shape.models &= allowed;
  if (budget.next < budget.end && models.size() > 1) {
    const auto best = placer_.Find(state_, shape, budget.next++, JobFilter(state_, job, largest));
    if (!best.ok()) return best.status();
    if (best->found) {
      const auto device = static_cast<std::size_t>(best->candidate.devices.First());
      const std::uint32_t model = state_.nodes().device_free(best->candidate.slot)[device].model;
      std::stable_partition(models.begin(), models.end(),
                            [&](std::uint32_t m) { return m == model; });
    }
  }
  std::vector<ModelMask> masks;
  for (const std::uint32_t model : models) masks.push_back(ModelMask{1} << model);
  return masks;
}

}  // namespace gpusched
