// JobSpec: what is submitted: groups of identical tasks, and what holds for them together.
#ifndef GPUSCHED_SPEC_JOB_SPEC_H_
#define GPUSCHED_SPEC_JOB_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpusched/base/time.h"
#include "gpusched/spec/shape_spec.h"

namespace gpusched {

// Most tasks that one job may have, over all groups of one alternative.
inline constexpr std::int64_t kMaxTasksPerJob = std::int64_t{1} << 20;

enum class JobKind : std::uint8_t {
  kBatch,    // ends when each of its tasks has finished
  kService,  // replicas without an end: a task that finishes is started anew
};

// Identical tasks, numbered 0 to count − 1.
struct TaskGroupSpec {
  std::string name;  // unique in its alternative; not empty, no '/'
  ShapeSpec shape;
  std::int64_t count = 1;  // 0 is legal: the group asks nothing
  // All or nothing up to here. Absent: `count` for a batch job, min(1, count) for a service.
  std::optional<std::int64_t> min_available;
  std::optional<std::int64_t> max_tasks_per_node;  // absent: no limit

  friend bool operator==(const TaskGroupSpec&, const TaskGroupSpec&) = default;
};

// A label of a job, matched as a whole.
struct Label {
  std::string key;
  std::string value;

  friend bool operator==(const Label&, const Label&) = default;
};

// Jobs that start together or not at all: those that name the same group, once `size` are there.
struct CoSchedule {
  std::string group;
  std::int64_t size = 1;

  friend bool operator==(const CoSchedule&, const CoSchedule&) = default;
};

// Checked by Validate (spec/validate_job.h) where it enters an engine.
struct JobSpec {
  std::string name;  // unique among live jobs
  JobKind kind = JobKind::kBatch;
  std::string queue = "default";
  std::int64_t priority = 0;  // higher is first
  // Absent: the engine's time when it is submitted. For jobs that are older than this engine.
  std::optional<Time> submit_time;
  std::optional<Duration> expected_duration;
  // A task that failed this often ends the job. Absent: it is tried for ever.
  std::optional<std::int64_t> max_attempts;
  std::vector<Label> labels;
  std::vector<TaskGroupSpec> groups;
  // What else would do, in order of preference after `groups`: "8 x H100, else 16 x A100".
  std::vector<std::vector<TaskGroupSpec>> alternatives;
  // All tasks of the job on devices of one GPU model.
  bool homogeneous = false;
  // Only nodes where some job with this label has a task (each of them). If no task of such a job
  // is placed anywhere and this job has the label itself, any node will do for its first task.
  std::vector<Label> affinity;
  // No node where some job with one of these labels has a task, itself included if it has the
  // label; and no job with such a label comes to a node where this job has a task.
  std::vector<Label> anti_affinity;
  std::optional<CoSchedule> co_schedule;

  // The groups of an alternative: 0 is `groups`. `index` <= alternatives.size().
  const std::vector<TaskGroupSpec>& Alternative(std::size_t index) const {
    return index == 0 ? groups : alternatives[index - 1];
  }

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// The number of tasks of a group that must be placed together.
constexpr std::int64_t MinAvailable(const TaskGroupSpec& group, JobKind kind) {
  if (group.min_available) return *group.min_available;
  return kind == JobKind::kBatch || group.count < 1 ? group.count : 1;
}

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_JOB_SPEC_H_
