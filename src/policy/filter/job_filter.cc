#include "gpusched/policy/filter/job_filter.h"

#include <algorithm>
#include <vector>

namespace gpusched {
namespace {

// Whether a task of the row's job minds that `job` is near.
bool Minds(const JobRow& row, const JobRow& job) {
  return std::any_of(row.spec.anti_affinity.begin(), row.spec.anti_affinity.end(),
                     [&](const Label& label) { return job.has_label(label); });
}

// Whether some placed task is of a job with this label; its node need not have joined yet.
bool AnyPlaced(const StateView& view, const Label& label) {
  for (std::uint32_t slot = 0; slot < view.tasks().slots(); ++slot) {
    if (!view.tasks().live(slot)) continue;
    const JobId owner = view.tasks()[slot].owner.job;
    if (view.jobs().Has(owner) && view.jobs()[owner.slot].has_label(label)) return true;
  }
  for (std::uint32_t slot = 0; slot < view.jobs().slots(); ++slot) {
    if (!view.jobs().live(slot)) continue;
    const JobRow& row = view.jobs()[slot];
    if (!row.parked.empty() && row.has_label(label)) return true;
  }
  return false;
}

}  // namespace

JobFilter::JobFilter(const StateView& view, JobId job, std::uint32_t group)
    : state_(&view.state()), job_(job), group_(group) {
  const JobRow& row = view.jobs()[job.slot];
  limit_ = row.group_specs()[group].max_tasks_per_node.value_or(0);
  company_ = !row.spec.affinity.empty() || view.jobs().with_anti_affinity() > 0;
}

Shortfall JobFilter::operator()(const NodeView& node, const Shape&) const {
  if (std::find(excluded_.begin(), excluded_.end(), node.slot()) != excluded_.end()) {
    return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
  }
  if (limit_ > 0) {
    std::int64_t here = 0;
    for (const std::uint32_t slot : state_->tasks().on_node(node.slot())) {
      const TaskOwner& owner = state_->tasks()[slot].owner;
      here += owner.job == job_ && owner.group == group_ ? 1 : 0;
    }
    if (here >= limit_) {
      return {
          .verdict = Verdict::Wait(Reason::kTooManyTasksOnNode), .need = here + 1, .have = limit_};
    }
  }
  return company_ ? CheckCompany(node) : Shortfall{};
}

Shortfall JobFilter::CheckCompany(const NodeView& node) const {
  const JobTable& jobs = state_->jobs();
  const JobRow& mine = jobs[job_.slot];
  std::vector<const JobRow*> here;
  for (const std::uint32_t slot : state_->tasks().on_node(node.slot())) {
    const JobId owner = state_->tasks()[slot].owner.job;
    if (!jobs.Has(owner)) continue;
    const JobRow* row = &jobs[owner.slot];
    if (Minds(mine, *row) || Minds(*row, mine)) {
      return {.verdict = Verdict::Wait(Reason::kAntiAffinity)};
    }
    here.push_back(row);
  }
  for (const Label& label : mine.spec.affinity) {
    const bool found = std::any_of(here.begin(), here.end(),
                                   [&](const JobRow* row) { return row->has_label(label); });
    if (found) continue;
    if (mine.has_label(label) && !AnyPlaced(*state_, label)) continue;  // the first of its kind
    return {.verdict = Verdict::Wait(Reason::kAffinity)};
  }
  return {};
}

}  // namespace gpusched
