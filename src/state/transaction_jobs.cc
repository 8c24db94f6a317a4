// The part of Transaction that is about jobs.
#include <algorithm>
#include <string>
#include <utility>

#include "gpusched/spec/field_error.h"
#include "gpusched/state/transaction.h"

namespace gpusched {
namespace {

// The number from which attempts of new tasks may count without meeting one that was used.
std::int64_t NextUnusedAttempt(const JobRow& job) {
  std::int64_t next = job.first_attempt;
  for (const GroupState& group : job.groups) {
    for (const TaskState& task : group.tasks) {
      const bool used = task.phase != TaskPhase::kPending;
      next = std::max(next, task.attempt + (used ? 1 : 0));
    }
  }
  return next;
}

absl::StatusOr<std::vector<ShapeId>> InternGroups(ClusterState& state,
                                                  const std::vector<TaskGroupSpec>& groups) {
  std::vector<ShapeId> shapes;
  for (const TaskGroupSpec& group : groups) {
    const auto shape = state.Intern(group.shape);
    if (!shape.ok()) return shape.status();
    shapes.push_back(*shape);
  }
  return shapes;
}

bool InRange(const TaskState& task) {
  return task.attempt >= 1 && task.attempt <= kMaxAttempt && task.failures >= 0 &&
         task.failures <= kMaxAttempt && task.deadline >= 0 && task.deadline <= kNoDeadline;
}

}  // namespace

absl::Status Transaction::CheckJob(JobId job) const {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  if (state_.jobs_.Has(job)) return absl::OkStatus();
  return FieldError(absl::StatusCode::kNotFound, "", "job",
                    Quoted(state_.job_names_.name(job.slot)),
                    "it is not here (any more); look it up anew by name");
}

absl::StatusOr<JobId> Transaction::AddJob(const JobSpec& spec, Time submit_time) {
  return RestoreJob(spec, submit_time, 0, 1, {},
                    std::vector<std::vector<TaskState>>(spec.groups.size()));
}

absl::StatusOr<JobId> Transaction::RestoreJob(const JobSpec& spec, Time submit_time,
                                              std::uint32_t alternative, std::int64_t first_attempt,
                                              const JobHeader& header,
                                              std::vector<std::vector<TaskState>> tasks) {
  GPUSCHED_RETURN_IF_ERROR(CheckOpen());
  if (state_.job_names_.Find(spec.name)) {
    return FieldError(absl::StatusCode::kAlreadyExists, "job", "name", Quoted(spec.name),
                      "a job of this name is live; use another name, or update or cancel that one");
  }
  if (alternative > spec.alternatives.size() ||
      tasks.size() != spec.Alternative(alternative).size()) {
    return InvalidField("job " + Quoted(spec.name), "alternative", std::to_string(alternative),
                        "its groups are others than those that were given");
  }
  // All alternatives now: a model name that has no room must be said here.
  const std::uint32_t known = state_.models_.size();
  for (std::size_t i = 0; i <= spec.alternatives.size(); ++i) {
    const auto all = InternGroups(state_, spec.Alternative(i));
    if (all.ok()) continue;
    state_.models_.Truncate(known);
    return all.status();
  }
  const auto shapes = InternGroups(state_, spec.Alternative(alternative));
  if (!shapes.ok()) return shapes.status();
  for (const auto& group : tasks) {
    for (const TaskState& task : group) {
      if (InRange(task) && first_attempt >= 1 && first_attempt <= kMaxAttempt) continue;
      return InvalidField("job " + Quoted(spec.name), "task", "attempt, failures or deadline",
                          "one of them is out of range");
    }
  }
  JobRow row;
  row.spec = spec;
  row.sequence = state_.jobs_.next_sequence();
  row.submit_time = submit_time;
  row.alternative = alternative;
  row.first_attempt = first_attempt;
  row.header = header;
  row.groups.resize(shapes->size());
  for (std::uint32_t i = 0; i < row.groups.size(); ++i) {
    row.groups[i].tasks = std::move(tasks[i]);
    row.SetGroup(i, (*shapes)[i]);
  }
  state_.jobs_.set_next_sequence(row.sequence + 1);
  const std::uint32_t slot = state_.jobs_.Insert(std::move(row));
  state_.job_names_.Bind(spec.name, slot);
  log_.entries.push_back({.op = Op::kAddJob, .slot = slot});
  return state_.jobs_.id(slot);
}

absl::Status Transaction::RemoveJob(JobId job) {
  GPUSCHED_RETURN_IF_ERROR(CheckJob(job));
  state_.job_names_.Unbind(job.slot);
  state_.jobs_.Detach(job.slot);
  log_.entries.push_back({.op = Op::kRemoveJob, .slot = job.slot});
  return absl::OkStatus();
}

absl::Status Transaction::SetHeader(JobId job, const JobHeader& header) {
  GPUSCHED_RETURN_IF_ERROR(CheckJob(job));
  JobRow& row = state_.jobs_.Writable(job.slot);
  if (row.header == header) return absl::OkStatus();
  log_.headers.push_back(row.header);
  row.header = header;
  log_.entries.push_back({.op = Op::kSetHeader, .slot = job.slot});
  return absl::OkStatus();
}

absl::Status Transaction::SetTask(JobId job, std::uint32_t group, std::uint32_t index,
                                  const TaskState& task) {
  GPUSCHED_RETURN_IF_ERROR(CheckJob(job));
  JobRow& row = state_.jobs_.Writable(job.slot);
  log_.tasks.push_back({.group = group, .index = index, .task = row.groups[group].tasks[index]});
  row.SetTask(group, index, task);
  log_.entries.push_back({.op = Op::kSetTask, .slot = job.slot});
  return absl::OkStatus();
}

void Transaction::SaveJob(std::uint32_t slot) {
  log_.jobs.push_back(state_.jobs_[slot]);
  log_.entries.push_back({.op = Op::kSetJob, .slot = slot});
}

absl::Status Transaction::SetAlternative(JobId job, std::uint32_t alternative) {
  GPUSCHED_RETURN_IF_ERROR(CheckJob(job));
  JobRow& row = state_.jobs_.Writable(job.slot);
  if (row.alternative == alternative) return absl::OkStatus();
  const auto shapes = InternGroups(state_, row.spec.Alternative(alternative));
  if (!shapes.ok()) return shapes.status();
  SaveJob(job.slot);
  row.first_attempt = NextUnusedAttempt(row);
  row.alternative = alternative;
  row.groups.assign(shapes->size(), {});
  for (std::uint32_t i = 0; i < row.groups.size(); ++i) row.SetGroup(i, (*shapes)[i]);
  return absl::OkStatus();
}

absl::Status Transaction::SetSpec(JobId job, const JobSpec& spec) {
  GPUSCHED_RETURN_IF_ERROR(CheckJob(job));
  JobRow& row = state_.jobs_.Writable(job.slot);
  const auto shapes = InternGroups(state_, spec.Alternative(row.alternative));
  if (!shapes.ok()) return shapes.status();
  SaveJob(job.slot);
  row.spec = spec;
  for (std::uint32_t i = 0; i < row.groups.size(); ++i) row.SetGroup(i, (*shapes)[i]);
  return absl::OkStatus();
}

absl::Status Transaction::SetParked(JobId job, std::vector<ParkedTask> parked) {
  GPUSCHED_RETURN_IF_ERROR(CheckJob(job));
  JobRow& row = state_.jobs_.Writable(job.slot);
  log_.parked.push_back(std::exchange(row.parked, std::move(parked)));
  log_.entries.push_back({.op = Op::kSetParked, .slot = job.slot});
  return absl::OkStatus();
}

void Transaction::UndoJob(const Entry& entry) {
  const std::uint32_t slot = entry.slot;
  JobRow& row = state_.jobs_.Writable(slot);
  switch (entry.op) {
    case Op::kAddJob:
      state_.jobs_.set_next_sequence(row.sequence);
      state_.job_names_.Unbind(slot);
      state_.jobs_.Detach(slot);
      state_.jobs_.Recycle(slot);
      break;
    case Op::kRemoveJob:
      state_.jobs_.Reattach(slot);
      state_.job_names_.Rebind(slot);
      break;
    case Op::kSetHeader:
      row.header = log_.headers.back();
      log_.headers.pop_back();
      break;
    case Op::kSetTask: {
      const UndoLog::SavedTask& saved = log_.tasks.back();
      row.SetTask(saved.group, saved.index, saved.task);
      log_.tasks.pop_back();
      break;
    }
    case Op::kSetParked:
      row.parked = std::move(log_.parked.back());
      log_.parked.pop_back();
      break;
    default:  // kSetJob
      row = std::move(log_.jobs.back());
      log_.jobs.pop_back();
      break;
  }
}

}  // namespace gpusched
