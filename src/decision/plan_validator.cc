#include "gpusched/decision/plan_validator.h"

#include <utility>

#include "plan_validator_ledger.h"
#include "plan_validator_world.h"

namespace gpusched {

using validator::Job;
using validator::Ledger;
using validator::Phase;
using validator::World;

struct PlanValidator::Parts {
  World world;
};

namespace {

JobCount CountOf(const std::string& name, const Job& job) {
  JobCount count{.job = name,
                 .alternative = static_cast<std::int64_t>(job.alternative),
                 .ending = job.Ending(),
                 .releasing = job.releasing,
                 .repair_deadline = job.repair_deadline};
  for (const TaskGroupSpec& group : job.Groups()) {
    const validator::GroupCount wanted = job.Count(group);
    count.pending += wanted.pending;
    count.finished += wanted.finished;
  }
  for (const auto& [id, task] : job.tasks) {
    if (task.phase == Phase::kAssumed) ++count.assumed;
    if (task.phase == Phase::kRunning) ++count.running;
    if (task.phase == Phase::kEvicting) ++count.evicting;
  }
  return count;
}

}  // namespace

PlanValidator::PlanValidator(ValidatorOptions options, ModelCatalog catalog)
    : parts_(std::make_unique<Parts>(Parts{World(options, std::move(catalog))})) {}
PlanValidator::PlanValidator(PlanValidator&&) noexcept = default;
PlanValidator& PlanValidator::operator=(PlanValidator&&) noexcept = default;
PlanValidator::~PlanValidator() = default;

void PlanValidator::Observe(const Event& event) { parts_->world.Apply(event); }

absl::Status PlanValidator::Check(const Plan& plan) const { return CheckPlan(parts_->world, plan); }

void PlanValidator::ObserveCommit(const Plan& plan) { parts_->world.Commit(plan); }

void PlanValidator::ObserveAbort(const Plan& plan) { parts_->world.Abort(plan); }

Time PlanValidator::now() const { return parts_->world.now; }

std::vector<NodeLoad> PlanValidator::Used() const {
  const World& world = parts_->world;
  const Ledger ledger(world);
  std::vector<NodeLoad> loads;
  for (const auto& [name, node] : world.nodes) {
    const auto it = ledger.nodes().find(name);
    loads.push_back(world.LoadOf(
        name, node, it == ledger.nodes().end() ? validator::NodeOccupants() : it->second.used));
  }
  return loads;
}

std::vector<NodeLoad> PlanValidator::Held() const {
  const World& world = parts_->world;
  std::vector<NodeLoad> loads;
  for (const auto& [name, node] : world.nodes) {
    validator::NodeOccupants held;
    for (const auto& [hold_name, hold] : world.holds) {
      if (hold.node != name) continue;
      world.AddOccupants(node, hold.shape, hold.devices, hold.instances, held);
    }
    loads.push_back(world.LoadOf(name, node, held));
  }
  return loads;
}

std::vector<JobCount> PlanValidator::Jobs() const {
  std::vector<JobCount> counts;
  for (const auto& [name, job] : parts_->world.jobs) counts.push_back(CountOf(name, job));
  return counts;
}

std::vector<PlacedTask> PlanValidator::Placed() const {
  std::vector<PlacedTask> placed;
  for (const auto& [name, job] : parts_->world.jobs) {
    for (const auto& [id, task] : job.tasks) {
      if (!task.Placed()) continue;
      placed.push_back({.task = {name, id.first, id.second, task.last_attempt},
                        .node = task.node,
                        .devices = task.devices,
                        .instances = task.instances});
    }
  }
  return placed;
}

std::vector<std::string> PlanValidator::Holds() const {
  std::vector<std::string> names;
  for (const auto& [name, hold] : parts_->world.holds) names.push_back(name);
  return names;
}

}  // namespace gpusched
