// JobTable: the live jobs, their groups, and how each of their tasks stands.
#ifndef GPUSCHED_STATE_JOB_TABLE_H_
#define GPUSCHED_STATE_JOB_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpusched/base/id.h"
#include "gpusched/base/time.h"
#include "gpusched/decision/plan.h"
#include "gpusched/export.h"
#include "gpusched/spec/job_spec.h"

namespace gpusched {

enum class TaskPhase : std::uint8_t {
  kPending,   // wants a place
  kAssumed,   // placed by a committed plan; nobody has said that it runs
  kRunning,   // somebody has
  kEvicting,  // to be stopped by a committed plan; holds what it has until it is gone
  kFinished,
};

inline constexpr std::size_t kTaskPhases = 5;

// The stable text of a phase: "pending", "assumed", "running", "evicting", "finished".
constexpr std::string_view TaskPhaseName(TaskPhase phase) {
  constexpr std::array<std::string_view, kTaskPhases> kNames = {"pending", "assumed", "running",
                                                                "evicting", "finished"};
  return kNames[static_cast<std::size_t>(phase)];
}

// Whether a task of this phase holds capacity.
constexpr bool IsPlaced(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kEvicting;
}

// How one task stands; small, because a transaction keeps the former one.
struct TaskState {
  TaskPhase phase = TaskPhase::kPending;
  std::int64_t attempt = 1;  // the one that is placed or was last; of a pending task, the next one
  std::int64_t failures = 0;
  TaskId ledger;                // its row if it is placed; none for one adopted on a node to come
  Time deadline = kNoDeadline;  // of an assumed task: when it is queued again

  friend bool operator==(const TaskState&, const TaskState&) = default;
};

// What changes about a job as a whole in its life; small for the same reason.
struct JobHeader {
  Time repair_deadline =
      kNoDeadline;                   // while some of its minimum is missing and it holds something
  std::optional<EvictCause> ending;  // cancelled or failed: gone when it holds nothing
  bool releasing = false;            // all of it is being evicted, to be placed anew
  bool started_together = false;     // its job group has started; it is on its own since

  friend bool operator==(const JobHeader&, const JobHeader&) = default;
};

// A task adopted on a node that has not joined yet.
struct ParkedTask {
  std::uint32_t group = 0;
  std::uint32_t index = 0;
  std::string node;
  DeviceMask devices;
  std::vector<MigInstance> instances = {};

  friend bool operator==(const ParkedTask&, const ParkedTask&) = default;
};

// A group of the alternative that the job is on. `tasks` may be longer than `count`: tasks that are
// not wanted any more stay, since they may still run, and since their attempts must not come again.
struct GroupState {
  ShapeId shape;
  std::int64_t count = 0;
  std::int64_t min_available = 0;
  std::vector<TaskState> tasks;
  std::array<std::int64_t, kTaskPhases> wanted{};  // tasks below `count`, by phase
  std::int64_t surplus_placed = 0;                 // placed tasks from `count` on
  std::int64_t surplus_finished = 0;

  std::int64_t wanted_in(TaskPhase phase) const { return wanted[static_cast<std::size_t>(phase)]; }
  // Tasks that count for the minimum.
  std::int64_t present() const {
    return wanted_in(TaskPhase::kAssumed) + wanted_in(TaskPhase::kRunning) +
           wanted_in(TaskPhase::kFinished);
  }
  std::int64_t missing() const { return present() < min_available ? min_available - present() : 0; }
  // The first `most` tasks that are wanted and pending, in order.
  GPUSCHED_EXPORT std::vector<std::uint32_t> Pending(std::int64_t most) const;
  std::int64_t placed() const {
    return surplus_placed + wanted_in(TaskPhase::kAssumed) + wanted_in(TaskPhase::kRunning) +
           wanted_in(TaskPhase::kEvicting);
  }
};

// One live job. `spec` is what is wanted now, updates included.
struct GPUSCHED_EXPORT JobRow {
  JobSpec spec;
  std::uint64_t sequence = 0;  // of its submission; unique
  Time submit_time = 0;
  std::uint32_t alternative = 0;
  std::int64_t first_attempt = 1;  // of tasks of this alternative; above any used under others
  JobHeader header;
  std::vector<GroupState> groups;
  std::vector<ParkedTask> parked;

  const std::vector<TaskGroupSpec>& group_specs() const { return spec.Alternative(alternative); }
  bool holds_something() const;
  // The job stays with its alternative: a task of it is placed, or has finished.
  bool bound() const;
  // Tasks that the groups lack for their minimum; none: the job is whole.
  std::int64_t missing() const;
  bool whole() const { return missing() == 0; }
  // Each wanted task has finished.
  bool all_finished() const;
  bool has_label(const Label& label) const;
  // What the group's spec says, put into effect: counts anew, tasks added.
  void SetGroup(std::uint32_t group, ShapeId shape);
  void SetTask(std::uint32_t group, std::uint32_t index, const TaskState& task);
};

// Rows by job slot; slots are reused, handles to former jobs are stale.
class GPUSCHED_EXPORT JobTable {
 public:
  std::uint32_t slots() const { return static_cast<std::uint32_t>(rows_.size()); }
  std::uint32_t size() const { return live_count_; }
  bool live(std::uint32_t slot) const { return slot < live_.size() && live_[slot] != 0; }
  JobId id(std::uint32_t slot) const { return {.slot = slot, .generation = generation_[slot]}; }
  bool Has(JobId id) const { return live(id.slot) && generation_[id.slot] == id.generation; }
  const JobRow& operator[](std::uint32_t slot) const { return rows_[slot]; }
  // How many live jobs ask for anti-affinity: if none does, nobody need be asked about labels.
  std::uint32_t with_anti_affinity() const { return with_anti_affinity_; }
  std::uint64_t next_sequence() const { return next_sequence_; }

  // --- writing (Transaction only) ------------------------------------------------------------
  std::uint32_t Insert(JobRow row);
  // Takes a row out; it can be put back until it is recycled.
  void Detach(std::uint32_t slot);
  void Reattach(std::uint32_t slot);
  void Recycle(std::uint32_t slot);
  void set_next_sequence(std::uint64_t sequence) { next_sequence_ = sequence; }
  JobRow& Writable(std::uint32_t slot) { return rows_[slot]; }

 private:
  std::vector<JobRow> rows_;
  std::vector<std::uint8_t> live_;
  std::vector<std::uint32_t> generation_;
  std::vector<std::uint32_t> recycled_;
  std::uint32_t live_count_ = 0;
  std::uint32_t with_anti_affinity_ = 0;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_JOB_TABLE_H_
