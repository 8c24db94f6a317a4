// UndoLog: what an open transaction has changed, and what was there before.
#ifndef GPUSCHED_STATE_UNDO_LOG_H_
#define GPUSCHED_STATE_UNDO_LOG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpusched/spec/node_spec.h"
#include "gpusched/state/hold_table.h"
#include "gpusched/state/job_table.h"
#include "gpusched/state/node_table.h"

namespace gpusched {

// Belongs to the state, so that its memory is there for the next transaction: a steady state
// allocates none.
struct UndoLog {
  enum class Op : std::uint8_t {
    kAddNode,
    kRemoveNode,
    kSetForeign,
    kUpdateNode,
    kSetCordoned,
    kPlace,
    kRelease,
    kAddHold,
    kDropHold,
    kAddJob,
    kRemoveJob,
    kSetHeader,
    kSetTask,
    kSetJob,
    kSetParked,
    kSetNow,
  };
  // `slot` is that of the node, task or job; `extra` a position (kRemoveNode: in the node order,
  // kAddHold and kDropHold: in the list of holds), the former flag (kSetCordoned), or where what
  // was there before is kept in one of the vectors below.
  struct Entry {
    Op op;
    std::uint32_t slot;
    std::size_t extra = 0;
  };
  struct SavedNode {
    NodeSpec spec;
    std::vector<DeviceKind> rows;  // lost devices have one too
  };
  struct SavedTask {
    std::uint32_t group, index;
    TaskState task;
  };

  std::vector<Entry> entries;
  std::vector<ForeignUsage> foreign;
  std::vector<SavedNode> nodes;
  std::vector<Hold> holds;
  std::vector<SavedTask> tasks;
  std::vector<JobHeader> headers;
  std::vector<JobRow> jobs;
  std::vector<std::vector<ParkedTask>> parked;
  std::vector<Time> times;

  // Forgets everything; what it keeps is the memory of the entries.
  void Clear() {
    entries.clear();
    foreign.clear();
    nodes.clear();
    holds.clear();
    tasks.clear();
    headers.clear();
    jobs.clear();
    parked.clear();
    times.clear();
  }
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_UNDO_LOG_H_
