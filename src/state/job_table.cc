#include "gpusched/state/job_table.h"

#include <algorithm>
#include <utility>

namespace gpusched {

std::vector<std::uint32_t> GroupState::Pending(std::int64_t most) const {
  std::vector<std::uint32_t> pending;
  for (std::uint32_t i = 0; i < count && std::ssize(pending) < most; ++i) {
    if (tasks[i].phase == TaskPhase::kPending) pending.push_back(i);
  }
  return pending;
}

bool JobRow::holds_something() const {
  return std::any_of(groups.begin(), groups.end(),
                     [](const GroupState& group) { return group.placed() > 0; });
}

bool JobRow::bound() const {
  return std::any_of(groups.begin(), groups.end(), [](const GroupState& group) {
    return group.placed() + group.surplus_finished + group.wanted_in(TaskPhase::kFinished) > 0;
  });
}

std::int64_t JobRow::missing() const {
  std::int64_t missing = 0;
  for (const GroupState& group : groups) missing += group.missing();
  return missing;
}

bool JobRow::all_finished() const {
  return std::all_of(groups.begin(), groups.end(), [](const GroupState& group) {
    return group.wanted_in(TaskPhase::kFinished) == group.count;
  });
}

bool JobRow::has_label(const Label& label) const {
  return std::find(spec.labels.begin(), spec.labels.end(), label) != spec.labels.end();
}

void JobRow::SetGroup(std::uint32_t group, ShapeId shape) {
  const TaskGroupSpec& wanted = group_specs()[group];
  GroupState& state = groups[group];
  state.shape = shape;
  state.count = wanted.count;
  state.min_available = MinAvailable(wanted, spec.kind);
  TaskState fresh;
  fresh.attempt = first_attempt;
  if (static_cast<std::int64_t>(state.tasks.size()) < wanted.count) {
    state.tasks.resize(static_cast<std::size_t>(wanted.count), fresh);
  }
  state.wanted = {};
  state.surplus_placed = 0;
  state.surplus_finished = 0;
  for (std::size_t i = 0; i < state.tasks.size(); ++i) {
    const TaskPhase phase = state.tasks[i].phase;
    if (static_cast<std::int64_t>(i) < state.count) {
      ++state.wanted[static_cast<std::size_t>(phase)];
    } else {
      state.surplus_placed += IsPlaced(phase) ? 1 : 0;
      state.surplus_finished += phase == TaskPhase::kFinished ? 1 : 0;
    }
  }
}

void JobRow::SetTask(std::uint32_t group, std::uint32_t index, const TaskState& task) {
  GroupState& state = groups[group];
  TaskState& slot = state.tasks[index];
  if (index < state.count) {
    --state.wanted[static_cast<std::size_t>(slot.phase)];
    ++state.wanted[static_cast<std::size_t>(task.phase)];
  } else {
    const auto count = [](std::int64_t& counter, bool after, bool before) {
      counter += (after ? 1 : 0) - (before ? 1 : 0);
    };
    count(state.surplus_placed, IsPlaced(task.phase), IsPlaced(slot.phase));
    count(state.surplus_finished, task.phase == TaskPhase::kFinished,
          slot.phase == TaskPhase::kFinished);
  }
  slot = task;
}

std::uint32_t JobTable::Insert(JobRow row) {
  std::uint32_t slot = slots();
  if (recycled_.empty()) {
    rows_.push_back(std::move(row));
    live_.push_back(0);
    generation_.push_back(0);
  } else {
    slot = recycled_.back();
    recycled_.pop_back();
    rows_[slot] = std::move(row);
  }
  Reattach(slot);
  return slot;
}

void JobTable::Detach(std::uint32_t slot) {
  live_[slot] = 0;
  --live_count_;
  if (!rows_[slot].spec.anti_affinity.empty()) --with_anti_affinity_;
}

void JobTable::Reattach(std::uint32_t slot) {
  live_[slot] = 1;
  ++live_count_;
  if (!rows_[slot].spec.anti_affinity.empty()) ++with_anti_affinity_;
}

void JobTable::Recycle(std::uint32_t slot) {
  ++generation_[slot];
  rows_[slot] = {};
  recycled_.push_back(slot);
}

}  // namespace gpusched
