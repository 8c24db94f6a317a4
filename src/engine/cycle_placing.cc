// The part of Cycle that looks for places: alternatives, models, gangs, single tasks.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cycle.h"
#include "engine/gang_search.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {}  // namespace

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

absl::StatusOr<std::optional<Cycle::Failure>> Cycle::TryAlternative(const std::vector<JobId>& jobs,
                                                                    SearchBudget& budget) {
  std::vector<std::vector<ModelMask>> choices;
  for (const JobId job : jobs) {
    // Each task is looked for at least once; the limit is for what comes on top.
    budget.end += static_cast<std::uint64_t>(Row(job).missing());
    choices.push_back({kAnyModel});
    if (!Row(job).spec.homogeneous) continue;
    auto found = ModelsFor(job, budget);
    if (!found.ok()) return found.status();
    choices.back() = *std::move(found);
  }
  std::vector<ModelMask> models;
  return TryModels(jobs, choices, models, budget);
}

absl::StatusOr<std::optional<Cycle::Failure>> Cycle::TryModels(
    const std::vector<JobId>& jobs, const std::vector<std::vector<ModelMask>>& choices,
    std::vector<ModelMask>& models, SearchBudget& budget) {
  if (models.size() < jobs.size()) {
    std::optional<Failure> first;
    for (const ModelMask model : choices[models.size()]) {
      if (first && budget.next >= budget.end) break;
      models.push_back(model);
      auto failure = TryModels(jobs, choices, models, budget);
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
                    .indices = row.groups[g].Pending(row.groups[g].missing()),
                    .blocked_by = {}};
      Failure failure;
      if (!Restrict(demand, models[j], failure)) return std::optional<Failure>(failure);
      if (std::ssize(demand.indices) < row.groups[g].missing()) {
        // Some of the minimum is being evicted; it comes back when that is over.
        failure = {.outcome = Outcome::kWait, .why = {}, .for_room = false, .job = {}};
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
      ++budget.next;  // so that ways to fail without a search are not endless
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
  // What its holds gave it is nobody else's.
  if (result->placed_of_all == 0 && !result->limit_reached && !OwnsHold(failing.job) &&
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
                const auto& instances = p.placement.instances;
                const int start = instances.empty() ? -1 : instances.front().start;
                return std::make_tuple(p.demand, position_[p.placement.node.slot], device, start);
              };
              return key(a) < key(b);
            });
  std::size_t next = 0;
  for (const Demand& demand : demands) {
    const JobRow& row = Row(demand.job);
    std::int64_t first_rank = 0;
    for (std::uint32_t g = 0; g < demand.group; ++g) first_rank += row.groups[g].count;
    for (const std::uint32_t index : demand.indices) {
      const GangPlacement& placement = placements[next++];
      const TaskIndex task{.job = demand.job, .group = demand.group, .index = index};
      steps_.emplace_back(gpusched::Place{
          .task = lifecycle_.KeyOf(task),
          .node = std::string(state_.node_name(placement.placement.node)),
          .devices = placement.placement.devices,
          .grant = GrantOf(state_, state_.shapes()[demand.shape_id], placement.placement),
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
  masks.reserve(models.size());
  for (const std::uint32_t model : models) masks.push_back(ModelMask{1} << model);
  return masks;
}

}  // namespace gpusched
