// TaskTable: the tasks that hold resources, which shape each has and where it sits.
#ifndef GPUSCHED_STATE_TASK_TABLE_H_
#define GPUSCHED_STATE_TASK_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/base/id.h"
#include "gpusched/decision/placement.h"

namespace gpusched {

// Which task of which job a row belongs to; nobody's for a task that was placed without a job.
struct TaskOwner {
  JobId job;
  std::uint32_t group = 0;
  std::uint32_t index = 0;
};

// One task that holds resources.
struct TaskRow {
  ShapeId shape;
  Placement placement;
  TaskOwner owner;
};

// Rows by task slot; slots are reused, handles to former tasks are stale.
class TaskTable {
 public:
  std::uint32_t slots() const { return static_cast<std::uint32_t>(rows_.size()); }
  std::uint32_t size() const { return live_count_; }
  bool live(std::uint32_t slot) const { return slot < live_.size() && live_[slot] != 0; }
  TaskId id(std::uint32_t slot) const { return {.slot = slot, .generation = generation_[slot]}; }
  bool Has(TaskId id) const { return live(id.slot) && generation_[id.slot] == id.generation; }
  const TaskRow& operator[](std::uint32_t slot) const { return rows_[slot]; }
  // Slots of the tasks on a node, in no particular order.
  std::span<const std::uint32_t> on_node(std::uint32_t node_slot) const {
    if (node_slot >= on_node_.size()) return {};
    return on_node_[node_slot];
  }

  // --- writing (Transaction only) ------------------------------------------------------------
  std::uint32_t Insert(const TaskRow& row) {
    std::uint32_t slot = slots();
    if (recycled_.empty()) {
      rows_.push_back(row);
      live_.push_back(0);
      generation_.push_back(0);
      position_.push_back(0);
    } else {
      slot = recycled_.back();
      recycled_.pop_back();
      rows_[slot] = row;
    }
    Reattach(slot);
    return slot;
  }
  // Takes a row out; it can be put back until it is recycled.
  void Detach(std::uint32_t slot) {
    live_[slot] = 0;
    --live_count_;
    std::vector<std::uint32_t>& there = on_node_[rows_[slot].placement.node.slot];
    const std::uint32_t last = there.back();
    there[position_[slot]] = last;
    position_[last] = position_[slot];
    there.pop_back();
  }
  void Reattach(std::uint32_t slot) {
    live_[slot] = 1;
    ++live_count_;
    const std::uint32_t node = rows_[slot].placement.node.slot;
    if (node >= on_node_.size()) on_node_.resize(node + std::size_t{1});
    position_[slot] = static_cast<std::uint32_t>(on_node_[node].size());
    on_node_[node].push_back(slot);
  }
  void Recycle(std::uint32_t slot) {
    ++generation_[slot];
    recycled_.push_back(slot);
  }

 private:
  std::vector<TaskRow> rows_;
  std::vector<std::uint8_t> live_;
  std::vector<std::uint32_t> generation_;
  std::vector<std::uint32_t> recycled_;
  std::vector<std::uint32_t> position_;  // of a task in the list of its node
  std::vector<std::vector<std::uint32_t>> on_node_;
  std::uint32_t live_count_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_TASK_TABLE_H_
