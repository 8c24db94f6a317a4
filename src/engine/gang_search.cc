#include "engine/gang_search.h"

#include <string>
#include <tuple>
#include <utility>

#include "gpusched/spec/task_key.h"

namespace gpusched {
namespace {

// One task of the gang, in the order in which they are placed.
struct Level {
  std::uint32_t demand = 0;
  std::uint32_t task = 0;  // of the demand
  Transaction::Mark mark = 0;
  std::vector<std::uint32_t> excluded;  // nodes that were tried
  GangPlacement placement;
};

class Search {
 public:
  Search(const ClusterState& state, Transaction& transaction, Placer& placer,
         const std::vector<Demand>& demands, SearchBudget& budget)
      : state_(state),
        transaction_(transaction),
        placer_(placer),
        demands_(demands),
        budget_(budget) {
    for (std::uint32_t demand = 0; demand < demands.size(); ++demand) {
      for (std::uint32_t task = 0; task < demands[demand].indices.size(); ++task) {
        Level level;
        level.demand = demand;
        level.task = task;
        levels_.push_back(std::move(level));
      }
    }
  }

  absl::StatusOr<GangResult> Run() {
    const Transaction::Mark start = transaction_.mark();
    std::size_t at = 0;
    while (at < levels_.size()) {
      if (budget_.next >= budget_.end) {
        result_.limit_reached = true;
        if (!explained_) Explain(at);
        break;
      }
      const absl::StatusOr<bool> placed = PlaceLevel(at);
      if (!placed.ok()) return placed.status();
      if (*placed) {
        ++at;
        if (at < levels_.size()) {
          // Siblings stay off the nodes on which all has been tried.
          levels_[at].excluded.clear();
          if (levels_[at].demand == levels_[at - 1].demand) {
            levels_[at].excluded = levels_[at - 1].excluded;
          }
        }
        continue;
      }
      const std::size_t back = LastChoice(at);
      if (back == levels_.size()) break;
      transaction_.RollbackTo(levels_[back].mark);
      levels_[back].excluded.push_back(levels_[back].placement.placement.node.slot);
      at = back;
    }
    result_.found = at == levels_.size();
    if (result_.found) {
      for (const Level& level : levels_) result_.placements.push_back(level.placement);
    }
    transaction_.RollbackTo(start);
    return std::move(result_);
  }

 private:
  absl::StatusOr<bool> PlaceLevel(std::size_t at) {
    Level& level = levels_[at];
    const Demand& demand = demands_[level.demand];
    level.mark = transaction_.mark();
    JobFilter filter(state_, demand.job, demand.group);
    filter.Exclude(level.excluded);
    const auto best = placer_.Find(state_, demand.shape, budget_.next++, filter);
    if (!best.ok()) return best.status();
    if (!best->found) {
      if (!explained_) Explain(at);
      return false;
    }
    const JobRow& job = state_.jobs()[demand.job.slot];
    level.placement = {.demand = level.demand,
                       .placement = PlacementOf(state_.node(best->candidate.slot), demand.shape,
                                                best->candidate.choice()),
                       .score = best->score};
    const std::string name = TaskName({.job = job.spec.name,
                                       .group = job.group_specs()[demand.group].name,
                                       .index = demand.indices[level.task],
                                       .attempt = 1});
    const auto task = transaction_.Place(
        name, demand.shape_id, level.placement.placement,
        {.job = demand.job, .group = demand.group, .index = demand.indices[level.task]});
    if (!task.ok()) return task.status();
    return true;
  }

  void Explain(std::size_t at) {
    explained_ = true;
    const Demand& demand = demands_[levels_[at].demand];
    result_.failing = levels_[at].demand;
    result_.placed_of_demand = levels_[at].task;
    result_.placed_of_all = static_cast<std::int64_t>(at);
    result_.refusal =
        placer_.Explain(state_, demand.shape, JobFilter(state_, demand.job, demand.group));
  }

  // The latest choice whose change could make room for the task at `at`; none: levels_.size().
  std::size_t LastChoice(std::size_t at) const {
    std::size_t back = at;
    // If it found no place although nothing was left out, then its siblings fill what there is in
    // any order, unless they mind each other's company.
    const Demand& demand = demands_[levels_[at].demand];
    const bool siblings_matter =
        !levels_[at].excluded.empty() || !state_.jobs()[demand.job.slot].spec.affinity.empty();
    while (back-- > 0) {
      if (siblings_matter || levels_[back].demand != levels_[at].demand) return back;
    }
    return levels_.size();
  }

  const ClusterState& state_;
  Transaction& transaction_;
  Placer& placer_;
  const std::vector<Demand>& demands_;
  SearchBudget& budget_;
  std::vector<Level> levels_;
  GangResult result_;
  bool explained_ = false;
};

}  // namespace

bool IsLarger(const Demand& a, const Demand& b) {
  const auto size = [](const Shape& s) {
    return std::make_tuple(s.gpu_milli_total(), s.gpu_mem_mib * s.gpu_count, s.cpu_milli,
                           s.mem_mib);
  };
  return size(a.shape) > size(b.shape);
}

absl::StatusOr<GangResult> SearchGang(const ClusterState& state, Transaction& transaction,
                                      Placer& placer, const std::vector<Demand>& demands,
                                      SearchBudget& budget) {
  return Search(state, transaction, placer, demands, budget).Run();
}

}  // namespace gpusched
