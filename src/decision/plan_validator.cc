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

PlanValidator::PlanValidator(ValidatorOptions options)
    : parts_(std::make_unique<Parts>(Parts{World(options)})) {}
PlanValidator::PlanValidator(PlanValidator&&) noexcept = default;
PlanValidator& PlanValidator::operator=(PlanValidator&&) noexcept = default;
PlanValidator::~PlanValidator() = default;

void PlanValidator::Observe(const Event& event) { parts_->world.Apply(event); }

absl::Status PlanValidator::Check(const Plan& plan) const { return CheckPlan(parts_->world, plan); }

void PlanValidator::ObserveCommit(const Plan& plan) { parts_->world.Commit(plan); }

void PlanValidator::ObserveAbort(const Plan& plan) { parts_->world.Abort(plan); }

Time PlanValidator::now() const { return parts_->world.now; }

std::vector<NodeLoad> PlanValidator::Used() const {
  const Ledger ledger(parts_->world);
  std::vector<NodeLoad> loads;
  for (const auto& [name, node] : parts_->world.nodes) {
    NodeLoad load = validator::NoLoad(name, node);
    const auto it = ledger.nodes().find(name);
    if (it != ledger.nodes().end()) {
      load.cpu_milli = it->second.used.cpu_milli;
      load.mem_mib = it->second.used.mem_mib;
      const auto& devices = it->second.used.devices;
      if (load.devices.size() < devices.size()) load.devices.resize(devices.size());
      for (std::size_t i = 0; i < devices.size(); ++i) load.devices[i] = devices[i];
    }
    loads.push_back(std::move(load));
  }
  return loads;
}

std::vector<NodeLoad> PlanValidator::Held() const {
  std::vector<NodeLoad> loads;
  for (const auto& [name, node] : parts_->world.nodes) {
    NodeLoad load = validator::NoLoad(name, node);
    for (const auto& [hold_name, hold] : parts_->world.holds) {
      if (hold.node == name) validator::AddLoad(node, hold.shape, hold.devices, load);
    }
    loads.push_back(std::move(load));
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
                        .devices = task.devices});
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
