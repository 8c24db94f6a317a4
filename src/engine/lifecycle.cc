#include "engine/lifecycle.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpusched/engine/account.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {

TaskKey Lifecycle::KeyOf(const TaskIndex& task) const {
  const JobRow& job = Row(task.job);
  return {.job = job.spec.name,
          .group = job.group_specs()[task.group].name,
          .index = task.index,
          .attempt = Task(task).attempt};
}

std::string Lifecycle::NodeOf(const TaskIndex& task) const {
  return TaskNode(state_, Row(task.job), task.group, task.index);
}

DeviceMask Lifecycle::DevicesOf(const TaskIndex& task) const {
  return TaskDevices(state_, Row(task.job), task.group, task.index);
}

bool Lifecycle::IsWanted(const TaskIndex& task) const {
  const JobRow& job = Row(task.job);
  return !job.header.ending && task.index < job.groups[task.group].count;
}

Effect Lifecycle::TakeEffect() {
  std::sort(effect_.requeued.begin(), effect_.requeued.end());
  std::sort(effect_.ended.begin(), effect_.ended.end(),
            [](const JobEnded& a, const JobEnded& b) { return a.job < b.job; });
  std::sort(effect_.expired_holds.begin(), effect_.expired_holds.end());
  return std::move(effect_);
}

absl::Status Lifecycle::Ignore(std::string note) {
  effect_.note = std::move(note);
  return absl::OkStatus();
}

absl::Status Lifecycle::AdvanceTo(Time now) {
  if (now != state_.now()) effect_.changed = true;
  GPUSCHED_RETURN_IF_ERROR(transaction_.SetNow(now));
  for (std::size_t i = state_.holds().list().size(); i-- > 0;) {
    const Hold& hold = state_.holds().list()[i];
    if (hold.until > now) continue;
    effect_.expired_holds.push_back(hold.name);
    GPUSCHED_RETURN_IF_ERROR(transaction_.DropHold(i));
  }
  for (std::uint32_t slot = 0; slot < state_.jobs().slots(); ++slot) {
    if (!state_.jobs().live(slot)) continue;
    const JobId job = state_.jobs().id(slot);
    bool expired = false;
    for (std::uint32_t g = 0; g < Row(job).groups.size(); ++g) {
      const GroupState& group = Row(job).groups[g];
      if (group.wanted_in(TaskPhase::kAssumed) + group.surplus_placed == 0) continue;
      for (std::uint32_t i = 0; i < group.tasks.size(); ++i) {
        const TaskState& task = group.tasks[i];
        if (task.phase != TaskPhase::kAssumed || task.deadline > now) continue;
        expired = true;
        GPUSCHED_RETURN_IF_ERROR(Leave({.job = job, .group = g, .index = i}, TaskPhase::kPending));
      }
    }
    if (expired) GPUSCHED_RETURN_IF_ERROR(Settle(job));
  }
  return absl::OkStatus();
}

absl::Status Lifecycle::Leave(const TaskIndex& task, TaskPhase phase, bool failed) {
  TaskState state = Task(task);
  if (state.ledger.has_value()) {
    GPUSCHED_RETURN_IF_ERROR(transaction_.Release(state.ledger));
  } else {
    std::vector<ParkedTask> parked = Row(task.job).parked;
    const auto removed = std::erase_if(parked, [&](const ParkedTask& entry) {
      return entry.group == task.group && entry.index == task.index;
    });
    if (removed > 0) {
      GPUSCHED_RETURN_IF_ERROR(transaction_.SetParked(task.job, std::move(parked)));
    }
  }
  if (phase == TaskPhase::kPending) {
    if (IsWanted(task)) effect_.requeued.push_back(KeyOf(task));
    ++state.attempt;
  }
  state.phase = phase;
  state.failures += failed ? 1 : 0;
  state.ledger = {};
  state.deadline = kNoDeadline;
  effect_.changed = true;
  return transaction_.SetTask(task.job, task.group, task.index, state);
}

absl::Status Lifecycle::EndJob(JobId job, JobEnd how) {
  effect_.ended.push_back({.job = Row(job).spec.name, .how = how});
  return transaction_.RemoveJob(job);
}

absl::Status Lifecycle::Settle(JobId job) {
  const JobRow& row = Row(job);
  const bool holds = row.holds_something();
  if (row.header.ending && !holds) {
    return EndJob(
        job, *row.header.ending == EvictCause::kCancelled ? JobEnd::kCancelled : JobEnd::kFailed);
  }
  if (!holds && row.spec.kind == JobKind::kBatch && row.all_finished()) {
    return EndJob(job, JobEnd::kFinished);
  }
  JobHeader header = row.header;
  if (!holds) header.releasing = false;
  const bool in_repair = holds && !row.whole() && !header.ending && !header.releasing;
  if (!in_repair) {
    header.repair_deadline = kNoDeadline;
  } else if (header.repair_deadline == kNoDeadline) {
    header.repair_deadline = state_.now() + settings_.repair_timeout;
  }
  return transaction_.SetHeader(job, header);
}

absl::Status Lifecycle::DropHoldsOf(const std::string& owner) {
  for (std::size_t i = state_.holds().list().size(); i-- > 0;) {
    if (state_.holds().list()[i].owner != owner) continue;
    GPUSCHED_RETURN_IF_ERROR(transaction_.DropHold(i));
  }
  return absl::OkStatus();
}

absl::Status Lifecycle::PlaceTask(const TaskIndex& task, const Placement& placement, Time now) {
  const GroupState& group = Row(task.job).groups[task.group];
  const absl::StatusOr<TaskId> ledger =
      transaction_.Place(TaskName(KeyOf(task)), group.shape, placement,
                         {.job = task.job, .group = task.group, .index = task.index});
  if (!ledger.ok()) return ledger.status();
  TaskState state = Task(task);
  state.phase = TaskPhase::kAssumed;
  state.ledger = *ledger;
  state.deadline = now + settings_.start_timeout;
  return transaction_.SetTask(task.job, task.group, task.index, state);
}

absl::Status Lifecycle::MarkEvicting(const TaskIndex& task, EvictCause cause) {
  TaskState state = Task(task);
  state.phase = TaskPhase::kEvicting;
  state.deadline = kNoDeadline;
  GPUSCHED_RETURN_IF_ERROR(transaction_.SetTask(task.job, task.group, task.index, state));
  JobHeader header = Row(task.job).header;
  if (cause == EvictCause::kGangNotWhole) {
    header.releasing = true;
    header.repair_deadline = kNoDeadline;
  }
  return transaction_.SetHeader(task.job, header);
}

absl::Status Lifecycle::FinishPlacing(JobId job) {
  GPUSCHED_RETURN_IF_ERROR(DropHoldsOf(Row(job).spec.name));
  GPUSCHED_RETURN_IF_ERROR(StartJobGroup(job));
  return Settle(job);
}

absl::Status Lifecycle::StartJobGroup(JobId job) {
  const std::optional<CoSchedule> group = Row(job).spec.co_schedule;
  if (!group) return absl::OkStatus();
  for (std::uint32_t slot = 0; slot < state_.jobs().slots(); ++slot) {
    if (!state_.jobs().live(slot)) continue;
    const JobRow& row = state_.jobs()[slot];
    if (!row.spec.co_schedule || row.spec.co_schedule->group != group->group) continue;
    JobHeader header = row.header;
    header.started_together = true;
    GPUSCHED_RETURN_IF_ERROR(transaction_.SetHeader(state_.jobs().id(slot), header));
  }
  return absl::OkStatus();
}

bool Lifecycle::JobGroupStarted(const std::string& group) const {
  for (std::uint32_t slot = 0; slot < state_.jobs().slots(); ++slot) {
    if (!state_.jobs().live(slot)) continue;
    const JobRow& row = state_.jobs()[slot];
    if (row.header.started_together && row.spec.co_schedule->group == group) return true;
  }
  return false;
}

absl::Status Lifecycle::FindForStep(const TaskKey& key, std::optional<std::int64_t> alternative,
                                    TaskIndex& task) {
  const auto wrong = [&](std::string_view field, const std::string& value,
                         std::string_view remedy) {
    return InvalidField("plan for " + Quoted(TaskName(key)), field, value, remedy);
  };
  const auto job = state_.FindJob(key.job);
  if (!job) return wrong("job", Quoted(key.job), "it is not live; decide again");
  if (alternative && *alternative != Row(*job).alternative) {
    if (*alternative < 0 || *alternative > std::ssize(Row(*job).spec.alternatives) ||
        Row(*job).bound()) {
      return wrong("alternative", absl::StrCat(*alternative), "it is not open to the job");
    }
    GPUSCHED_RETURN_IF_ERROR(
        transaction_.SetAlternative(*job, static_cast<std::uint32_t>(*alternative)));
  }
  const auto& groups = Row(*job).group_specs();
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const std::vector<TaskState>& tasks = Row(*job).groups[g].tasks;
    if (groups[g].name != key.group) continue;
    if (key.index < 0 || key.index >= static_cast<std::int64_t>(tasks.size())) break;
    task = {.job = *job, .group = g, .index = static_cast<std::uint32_t>(key.index)};
    if (Task(task).attempt != key.attempt) {
      return wrong("attempt", absl::StrCat(key.attempt),
                   absl::StrCat("the task is at ", Task(task).attempt));
    }
    return absl::OkStatus();
  }
  return wrong("group", Quoted(key.group), "the job has no such task");
}

absl::Status Lifecycle::ApplyPlan(const Plan& plan) {
  std::vector<JobId> placed, evicted;
  // First, because jobs that start together use each other's.
  for (const Step& step : plan.steps()) {
    const auto* place = std::get_if<Place>(&step);
    if (place != nullptr) GPUSCHED_RETURN_IF_ERROR(DropHoldsOf(place->task.job));
  }
  for (const Step& step : plan.steps()) {
    TaskIndex task;
    if (const auto* evict = std::get_if<Evict>(&step)) {
      GPUSCHED_RETURN_IF_ERROR(FindForStep(evict->task, std::nullopt, task));
      const TaskPhase phase = Task(task).phase;
      if (phase != TaskPhase::kAssumed && phase != TaskPhase::kRunning) {
        return InvalidField("plan for " + Quoted(TaskName(evict->task)), "task",
                            std::string(TaskPhaseName(phase)), "it can't be evicted");
      }
      GPUSCHED_RETURN_IF_ERROR(MarkEvicting(task, evict->cause));
      evicted.push_back(task.job);
    } else if (const auto* place = std::get_if<Place>(&step)) {
      GPUSCHED_RETURN_IF_ERROR(FindForStep(place->task, place->alternative, task));
      const std::string where = "plan for " + Quoted(TaskName(place->task));
      const auto node = state_.FindNode(place->node);
      if (!node || state_.nodes().cordoned(node->slot)) {
        return InvalidField(where, "node", Quoted(place->node),
                            "it is not in the cluster, or cordoned; decide again");
      }
      if (Task(task).phase != TaskPhase::kPending) {
        return InvalidField(where, "task", std::string(TaskPhaseName(Task(task).phase)),
                            "only pending tasks can be placed");
      }
      if (!IsWanted(task) || Row(task.job).header.releasing) {
        return InvalidField(where, "task", "not wanted", "its job is being taken back, or smaller");
      }
      if (placed.empty() || placed.back() != task.job) placed.push_back(task.job);
      GPUSCHED_RETURN_IF_ERROR(PlaceTask(
          task, {.node = *node, .devices = place->devices, .instances = place->grant.instances},
          plan.now()));
    }
  }
  effect_.changed = effect_.changed || !placed.empty() || !evicted.empty();
  for (const JobId job : placed) GPUSCHED_RETURN_IF_ERROR(FinishPlacing(job));
  for (const JobId job : evicted) {
    if (state_.jobs().Has(job)) GPUSCHED_RETURN_IF_ERROR(Settle(job));
  }
  return absl::OkStatus();
}

absl::Status Lifecycle::AbortPlan(const Plan& plan) {
  std::vector<JobId> touched;
  for (const Step& step : plan.steps()) {
    const auto* place = std::get_if<Place>(&step);
    if (place == nullptr) continue;
    const auto job = state_.FindJob(place->task.job);
    if (!job || Row(*job).alternative != place->alternative) continue;
    const auto& groups = Row(*job).group_specs();
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      if (groups[g].name != place->task.group) continue;
      const TaskIndex task{
          .job = *job, .group = g, .index = static_cast<std::uint32_t>(place->task.index)};
      const auto tasks = std::ssize(Row(*job).groups[g].tasks);
      if (place->task.index < 0 || place->task.index >= tasks) continue;
      const TaskState& state = Task(task);
      if (state.phase != TaskPhase::kAssumed || state.attempt != place->task.attempt) continue;
      if (NodeOf(task) != place->node) continue;
      GPUSCHED_RETURN_IF_ERROR(Leave(task, TaskPhase::kPending));
      if (touched.empty() || touched.back() != *job) touched.push_back(*job);
    }
  }
  for (const JobId job : touched) {
    if (state_.jobs().Has(job)) GPUSCHED_RETURN_IF_ERROR(Settle(job));
  }
  if (!effect_.changed) effect_.note = "no placement of this plan is waiting to start";
  return absl::OkStatus();
}

}  // namespace gpusched
