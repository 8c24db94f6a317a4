// TaskTable: the running tasks, which shape each has and where it sits.
#ifndef GPUSCHED_STATE_TASK_TABLE_H_
#define GPUSCHED_STATE_TASK_TABLE_H_

#include <cstdint>
#include <vector>

#include "gpusched/base/id.h"
#include "gpusched/decision/placement.h"

namespace gpusched {

// One task that holds resources.
struct TaskRow {
  ShapeId shape;
  Placement placement;
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

  // --- writing (Transaction only) ------------------------------------------------------------
  std::uint32_t Insert(const TaskRow& row) {
    std::uint32_t slot = slots();
    if (recycled_.empty()) {
      rows_.push_back(row);
      live_.push_back(0);
      generation_.push_back(0);
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
  }
  void Reattach(std::uint32_t slot) {
    live_[slot] = 1;
    ++live_count_;
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
  std::uint32_t live_count_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_TASK_TABLE_H_
